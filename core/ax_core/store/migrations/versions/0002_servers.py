"""What only servers need: a proof of commits, and on MySQL rows to lock names by."""

from alembic import op

from ax_core.store.migrations.ddl import database, drop, key, table, whole

revision = "0002"
down_revision = "0001"

STRIPES = 1024


def upgrade() -> None:
    if database() == "sqlite":
        return
    table("ax_commit", key("id", 64), whole("at"), primary_key=["id"])
    if database() == "mysql":
        table("ax_stripe", whole("n"), primary_key=["n"])
        numbers = ", ".join(f"({n})" for n in range(STRIPES))
        op.execute(f"INSERT INTO ax_stripe (n) VALUES {numbers} ON DUPLICATE KEY UPDATE n = n")


def downgrade() -> None:
    if database() == "mysql":
        drop("ax_stripe")
    if database() != "sqlite":
        drop("ax_commit")
