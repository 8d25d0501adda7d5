"""Rollbacks that have not ended are found without looking at other runs, whatever their namespace."""

from alembic import op

from ax_core.store.migrations.ddl import index

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    index("ix_run_rolling", "ax_run", ["reason", "id"], where="reason = 'rolling_back'")


def downgrade() -> None:
    op.drop_index("ix_run_rolling", "ax_run")
