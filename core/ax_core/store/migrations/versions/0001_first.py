"""The first schema."""

from ax_core.store.migrations.ddl import drop, index, key, long_text, table, whole

revision = "0001"
down_revision = None


def upgrade() -> None:
    table(
        "ax_approval",
        key("task_id", 64),
        whole("number"),
        key("ns", 64),
        key("args_hash", 64),
        key("tool_version", 64),
        whole("asked_at"),
        whole("expires_at"),
        long_text("decision", null=True),
        whole("decided_at", null=True),
        long_text("decided_by", null=True),
        long_text("comment", null=True),
        whole("start_by", null=True),
        primary_key=["task_id", "number"],
        with_rowid=False,
    )
    table(
        "ax_attempt",
        key("task_id", 64),
        whole("number"),
        whole("fence"),
        long_text("owner", null=True),
        whole("started_at", null=True),
        whole("ended_at", null=True),
        long_text("outcome"),
        long_text("error", null=True),
        whole("acted_at", null=True),
        whole("closed"),
        whole("late_at", null=True),
        long_text("late_outcome", null=True),
        long_text("late_result", null=True),
        primary_key=["task_id", "number", "fence"],
        with_rowid=False,
    )
    table(
        "ax_audit",
        key("task_id", 64),
        whole("seq"),
        whole("at"),
        key("verb", 64),
        key("source", 64, null=True),
        key("target", 64, null=True),
        long_text("actor"),
        long_text("detail", null=True),
        key("hash", 64),
        primary_key=["task_id", "seq"],
        with_rowid=False,
    )
    table(
        "ax_idempotency",
        key("ns", 64),
        key("dedupe_key", 64),
        key("tool", 255),
        key("args_hash", 64),
        key("task_id", 64),
        whole("first_at"),
        whole("last_at"),
        whole("expires_at", null=True),
        primary_key=["ns", "dedupe_key"],
        with_rowid=False,
    )
    table(
        "ax_lock",
        key("ns", 64),
        key("session", 255),
        key("run_id", 64),
        key("token", 255),
        whole("fence"),
        whole("expires_at"),
        primary_key=["ns", "session"],
        with_rowid=False,
    )
    table(
        "ax_request",
        key("ns", 64),
        key("request_id", 255),
        key("task_id", 64),
        key("submitted_hash", 64),
        long_text("kind"),
        whole("created_at"),
        primary_key=["ns", "request_id"],
        with_rowid=False,
    )
    table(
        "ax_run",
        key("id", 64),
        key("ns", 64),
        key("run_key", 255, null=True),
        key("root_id", 64),
        key("parent_run_id", 64, null=True),
        key("parent_task_id", 64, null=True),
        key("session", 255, null=True),
        long_text("intent", null=True),
        key("state", 64),
        key("reason", 64, null=True),
        whole("max_tasks", null=True),
        whole("used_tasks"),
        whole("refused"),
        whole("max_rounds", null=True),
        whole("used_rounds"),
        whole("max_cost", null=True),
        whole("used_cost"),
        whole("seconds", null=True),
        whole("deadline_at", null=True),
        whole("paused_at", null=True),
        key("lock_token", 255, null=True),
        whole("created_at"),
        whole("ended_at", null=True),
        key("digest", 64, null=True),
        primary_key=["id"],
    )
    index("ix_run_root", "ax_run", ["root_id"])
    index(
        "ix_run_state",
        "ax_run",
        ["ns", "state", "id"],
        where="state IN ('OPEN', 'PAUSED') OR reason = 'rolling_back'",
    )
    index("ux_run_key", "ax_run", ["ns", "run_key"], unique=True, where="run_key IS NOT NULL")
    table(
        "ax_task",
        key("id", 64),
        key("ns", 64),
        key("run_id", 64),
        key("parent_id", 64, null=True),
        key("session", 255, null=True),
        key("tool", 255),
        key("tool_version", 64),
        key("effect", 64),
        key("origin", 64),
        key("state", 64),
        key("reason", 64, null=True),
        key("request_id", 255, null=True),
        key("idempotency_key", 64),
        key("submitted_hash", 64),
        key("args_hash", 64),
        key("fingerprint", 64),
        key("twin", 64, null=True),
        key("dedupe_key", 64, null=True),
        long_text("payload"),
        long_text("result", null=True),
        long_text("error", null=True),
        long_text("notes", null=True),
        long_text("address", null=True),
        whole("attempt"),
        whole("failures"),
        whole("interruptions"),
        whole("max_attempts"),
        whole("fence"),
        long_text("owner", null=True),
        whole("lease_until", null=True),
        whole("attempt_open"),
        whole("marks_effect"),
        whole("acted_at", null=True),
        whole("maybe_applied"),
        whole("cancel_requested"),
        whole("approved"),
        whole("overdue"),
        whole("replays"),
        whole("due_at", null=True),
        whole("deadline_at", null=True),
        whole("created_at"),
        whole("started_at", null=True),
        whole("ended_at", null=True),
        whole("audit_seq"),
        key("audit_head", 64),
        primary_key=["id"],
    )
    index(
        "ix_task_half_open",
        "ax_task",
        ["attempt_open", "id"],
        where="attempt_open = 1 AND state <> 'RUNNING'",
    )
    index("ix_task_run", "ax_task", ["run_id", "fingerprint"])
    index(
        "ix_task_session",
        "ax_task",
        ["ns", "session", "id"],
        where="session IS NOT NULL",
    )
    index(
        "ix_task_state",
        "ax_task",
        ["state", "ns", "id"],
        where="state <> 'SUCCESS'",
    )
    index(
        "ix_task_twin",
        "ax_task",
        ["twin"],
        where="twin IS NOT NULL AND state <> 'SUCCESS'",
    )
    index(
        "ux_task_request",
        "ax_task",
        ["ns", "request_id"],
        unique=True,
        where="request_id IS NOT NULL",
    )
    table(
        "ax_tool",
        key("ns", 64),
        key("name", 255),
        key("version", 64),
        long_text("schema"),
        long_text("policy"),
        whole("paused"),
        long_text("paused_by", null=True),
        whole("seen_at"),
        primary_key=["ns", "name"],
        with_rowid=False,
    )


def downgrade() -> None:
    for name in ("tool", "task", "run", "request", "lock", "idempotency", "audit", "attempt", "approval"):
        drop(f"ax_{name}")
