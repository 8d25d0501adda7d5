"""The first schema."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "ax_approval",
        sa.Column("task_id", sa.String(length=64), autoincrement=False, nullable=False),
        sa.Column("number", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("ns", sa.String(length=64), autoincrement=False, nullable=False),
        sa.Column("args_hash", sa.String(length=64), autoincrement=False, nullable=False),
        sa.Column("tool_version", sa.String(length=64), autoincrement=False, nullable=False),
        sa.Column("asked_at", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("expires_at", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("decision", sa.Text(), autoincrement=False, nullable=True),
        sa.Column("decided_at", sa.BigInteger(), autoincrement=False, nullable=True),
        sa.Column("decided_by", sa.Text(), autoincrement=False, nullable=True),
        sa.Column("comment", sa.Text(), autoincrement=False, nullable=True),
        sa.Column("start_by", sa.BigInteger(), autoincrement=False, nullable=True),
        sa.PrimaryKeyConstraint("task_id", "number"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "ax_attempt",
        sa.Column("task_id", sa.String(length=64), autoincrement=False, nullable=False),
        sa.Column("number", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("fence", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("owner", sa.Text(), autoincrement=False, nullable=True),
        sa.Column("started_at", sa.BigInteger(), autoincrement=False, nullable=True),
        sa.Column("ended_at", sa.BigInteger(), autoincrement=False, nullable=True),
        sa.Column("outcome", sa.Text(), autoincrement=False, nullable=False),
        sa.Column("error", sa.Text(), autoincrement=False, nullable=True),
        sa.Column("acted_at", sa.BigInteger(), autoincrement=False, nullable=True),
        sa.Column("closed", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("late_at", sa.BigInteger(), autoincrement=False, nullable=True),
        sa.Column("late_outcome", sa.Text(), autoincrement=False, nullable=True),
        sa.Column("late_result", sa.Text(), autoincrement=False, nullable=True),
        sa.PrimaryKeyConstraint("task_id", "number", "fence"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "ax_audit",
        sa.Column("task_id", sa.String(length=64), autoincrement=False, nullable=False),
        sa.Column("seq", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("at", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("verb", sa.String(length=64), autoincrement=False, nullable=False),
        sa.Column("source", sa.String(length=64), autoincrement=False, nullable=True),
        sa.Column("target", sa.String(length=64), autoincrement=False, nullable=True),
        sa.Column("actor", sa.Text(), autoincrement=False, nullable=False),
        sa.Column("detail", sa.Text(), autoincrement=False, nullable=True),
        sa.Column("hash", sa.String(length=64), autoincrement=False, nullable=False),
        sa.PrimaryKeyConstraint("task_id", "seq"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "ax_idempotency",
        sa.Column("ns", sa.String(length=64), autoincrement=False, nullable=False),
        sa.Column("dedupe_key", sa.String(length=64), autoincrement=False, nullable=False),
        sa.Column("tool", sa.String(length=255), autoincrement=False, nullable=False),
        sa.Column("args_hash", sa.String(length=64), autoincrement=False, nullable=False),
        sa.Column("task_id", sa.String(length=64), autoincrement=False, nullable=False),
        sa.Column("first_at", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("last_at", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("expires_at", sa.BigInteger(), autoincrement=False, nullable=True),
        sa.PrimaryKeyConstraint("ns", "dedupe_key"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "ax_lock",
        sa.Column("ns", sa.String(length=64), autoincrement=False, nullable=False),
        sa.Column("session", sa.String(length=255), autoincrement=False, nullable=False),
        sa.Column("run_id", sa.String(length=64), autoincrement=False, nullable=False),
        sa.Column("token", sa.String(length=255), autoincrement=False, nullable=False),
        sa.Column("fence", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("expires_at", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.PrimaryKeyConstraint("ns", "session"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "ax_request",
        sa.Column("ns", sa.String(length=64), autoincrement=False, nullable=False),
        sa.Column("request_id", sa.String(length=255), autoincrement=False, nullable=False),
        sa.Column("task_id", sa.String(length=64), autoincrement=False, nullable=False),
        sa.Column("submitted_hash", sa.String(length=64), autoincrement=False, nullable=False),
        sa.Column("kind", sa.Text(), autoincrement=False, nullable=False),
        sa.Column("created_at", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.PrimaryKeyConstraint("ns", "request_id"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "ax_run",
        sa.Column("id", sa.String(length=64), autoincrement=False, nullable=False),
        sa.Column("ns", sa.String(length=64), autoincrement=False, nullable=False),
        sa.Column("run_key", sa.String(length=255), autoincrement=False, nullable=True),
        sa.Column("root_id", sa.String(length=64), autoincrement=False, nullable=False),
        sa.Column("parent_run_id", sa.String(length=64), autoincrement=False, nullable=True),
        sa.Column("parent_task_id", sa.String(length=64), autoincrement=False, nullable=True),
        sa.Column("session", sa.String(length=255), autoincrement=False, nullable=True),
        sa.Column("intent", sa.Text(), autoincrement=False, nullable=True),
        sa.Column("state", sa.String(length=64), autoincrement=False, nullable=False),
        sa.Column("reason", sa.String(length=64), autoincrement=False, nullable=True),
        sa.Column("max_tasks", sa.BigInteger(), autoincrement=False, nullable=True),
        sa.Column("used_tasks", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("refused", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("max_rounds", sa.BigInteger(), autoincrement=False, nullable=True),
        sa.Column("used_rounds", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("max_cost", sa.BigInteger(), autoincrement=False, nullable=True),
        sa.Column("used_cost", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("seconds", sa.BigInteger(), autoincrement=False, nullable=True),
        sa.Column("deadline_at", sa.BigInteger(), autoincrement=False, nullable=True),
        sa.Column("paused_at", sa.BigInteger(), autoincrement=False, nullable=True),
        sa.Column("lock_token", sa.String(length=255), autoincrement=False, nullable=True),
        sa.Column("created_at", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("ended_at", sa.BigInteger(), autoincrement=False, nullable=True),
        sa.Column("digest", sa.String(length=64), autoincrement=False, nullable=True),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_run_root", "ax_run", ["root_id"], unique=False)
    op.create_index(
        "ix_run_state",
        "ax_run",
        ["ns", "state", "id"],
        unique=False,
        sqlite_where=sa.text("state IN ('OPEN', 'PAUSED') OR reason = 'rolling_back'"),
    )
    op.create_index(
        "ux_run_key", "ax_run", ["ns", "run_key"], unique=True, sqlite_where=sa.text("run_key IS NOT NULL")
    )
    op.create_table(
        "ax_task",
        sa.Column("id", sa.String(length=64), autoincrement=False, nullable=False),
        sa.Column("ns", sa.String(length=64), autoincrement=False, nullable=False),
        sa.Column("run_id", sa.String(length=64), autoincrement=False, nullable=False),
        sa.Column("parent_id", sa.String(length=64), autoincrement=False, nullable=True),
        sa.Column("session", sa.String(length=255), autoincrement=False, nullable=True),
        sa.Column("tool", sa.String(length=255), autoincrement=False, nullable=False),
        sa.Column("tool_version", sa.String(length=64), autoincrement=False, nullable=False),
        sa.Column("effect", sa.String(length=64), autoincrement=False, nullable=False),
        sa.Column("origin", sa.String(length=64), autoincrement=False, nullable=False),
        sa.Column("state", sa.String(length=64), autoincrement=False, nullable=False),
        sa.Column("reason", sa.String(length=64), autoincrement=False, nullable=True),
        sa.Column("request_id", sa.String(length=255), autoincrement=False, nullable=True),
        sa.Column("idempotency_key", sa.String(length=64), autoincrement=False, nullable=False),
        sa.Column("submitted_hash", sa.String(length=64), autoincrement=False, nullable=False),
        sa.Column("args_hash", sa.String(length=64), autoincrement=False, nullable=False),
        sa.Column("fingerprint", sa.String(length=64), autoincrement=False, nullable=False),
        sa.Column("twin", sa.String(length=64), autoincrement=False, nullable=True),
        sa.Column("dedupe_key", sa.String(length=64), autoincrement=False, nullable=True),
        sa.Column("payload", sa.Text(), autoincrement=False, nullable=False),
        sa.Column("result", sa.Text(), autoincrement=False, nullable=True),
        sa.Column("error", sa.Text(), autoincrement=False, nullable=True),
        sa.Column("notes", sa.Text(), autoincrement=False, nullable=True),
        sa.Column("address", sa.Text(), autoincrement=False, nullable=True),
        sa.Column("attempt", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("failures", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("interruptions", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("max_attempts", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("fence", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("owner", sa.Text(), autoincrement=False, nullable=True),
        sa.Column("lease_until", sa.BigInteger(), autoincrement=False, nullable=True),
        sa.Column("attempt_open", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("marks_effect", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("acted_at", sa.BigInteger(), autoincrement=False, nullable=True),
        sa.Column("maybe_applied", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("cancel_requested", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("approved", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("overdue", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("replays", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("due_at", sa.BigInteger(), autoincrement=False, nullable=True),
        sa.Column("deadline_at", sa.BigInteger(), autoincrement=False, nullable=True),
        sa.Column("created_at", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("started_at", sa.BigInteger(), autoincrement=False, nullable=True),
        sa.Column("ended_at", sa.BigInteger(), autoincrement=False, nullable=True),
        sa.Column("audit_seq", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("audit_head", sa.String(length=64), autoincrement=False, nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index(
        "ix_task_half_open",
        "ax_task",
        ["id"],
        unique=False,
        sqlite_where=sa.text("attempt_open = 1 AND state <> 'RUNNING'"),
    )
    op.create_index("ix_task_run", "ax_task", ["run_id", "fingerprint"], unique=False)
    op.create_index(
        "ix_task_session",
        "ax_task",
        ["ns", "session", "id"],
        unique=False,
        sqlite_where=sa.text("session IS NOT NULL"),
    )
    op.create_index(
        "ix_task_state",
        "ax_task",
        ["state", "ns", "id"],
        unique=False,
        sqlite_where=sa.text("state <> 'SUCCESS'"),
    )
    op.create_index(
        "ix_task_twin",
        "ax_task",
        ["twin"],
        unique=False,
        sqlite_where=sa.text("twin IS NOT NULL AND state <> 'SUCCESS'"),
    )
    op.create_index(
        "ux_task_request",
        "ax_task",
        ["ns", "request_id"],
        unique=True,
        sqlite_where=sa.text("request_id IS NOT NULL"),
    )
    op.create_table(
        "ax_tool",
        sa.Column("ns", sa.String(length=64), autoincrement=False, nullable=False),
        sa.Column("name", sa.String(length=255), autoincrement=False, nullable=False),
        sa.Column("version", sa.String(length=64), autoincrement=False, nullable=False),
        sa.Column("schema", sa.Text(), autoincrement=False, nullable=False),
        sa.Column("policy", sa.Text(), autoincrement=False, nullable=False),
        sa.Column("paused", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("paused_by", sa.Text(), autoincrement=False, nullable=True),
        sa.Column("seen_at", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.PrimaryKeyConstraint("ns", "name"),
        sqlite_with_rowid=False,
    )


def downgrade() -> None:
    op.drop_table("ax_tool")
    op.drop_index("ux_task_request", table_name="ax_task", sqlite_where=sa.text("request_id IS NOT NULL"))
    op.drop_index(
        "ix_task_twin", table_name="ax_task", sqlite_where=sa.text("twin IS NOT NULL AND state <> 'SUCCESS'")
    )
    op.drop_index("ix_task_state", table_name="ax_task", sqlite_where=sa.text("state <> 'SUCCESS'"))
    op.drop_index("ix_task_session", table_name="ax_task", sqlite_where=sa.text("session IS NOT NULL"))
    op.drop_index("ix_task_run", table_name="ax_task")
    op.drop_index("ix_task_half_open", table_name="ax_task")
    op.drop_table("ax_task")
    op.drop_index("ux_run_key", table_name="ax_run", sqlite_where=sa.text("run_key IS NOT NULL"))
    op.drop_index(
        "ix_run_state",
        table_name="ax_run",
        sqlite_where=sa.text("state IN ('OPEN', 'PAUSED') OR reason = 'rolling_back'"),
    )
    op.drop_index("ix_run_root", table_name="ax_run")
    op.drop_table("ax_run")
    op.drop_table("ax_request")
    op.drop_table("ax_lock")
    op.drop_table("ax_idempotency")
    op.drop_table("ax_audit")
    op.drop_table("ax_attempt")
    op.drop_table("ax_approval")
