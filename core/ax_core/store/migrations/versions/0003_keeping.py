"""What is found without looking at everything: rollbacks that have not ended, and the requests that a task answers."""

from alembic import op

from ax_core.store.migrations.ddl import index

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    index("ix_run_rolling", "ax_run", ["reason", "id"], where="reason = 'rolling_back'")
    index("ix_request_task", "ax_request", ["task_id"])


def downgrade() -> None:
    op.drop_index("ix_request_task", "ax_request")
    op.drop_index("ix_run_rolling", "ax_run")
