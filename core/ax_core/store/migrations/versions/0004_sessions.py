"""The runs of one session, found without looking at the others."""

from alembic import op

from ax_core.store.migrations.ddl import index

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    index("ix_run_session", "ax_run", ["ns", "session", "id"], where="session IS NOT NULL")


def downgrade() -> None:
    op.drop_index("ix_run_session", "ax_run")
