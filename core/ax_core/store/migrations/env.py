"""Alembic's entry: runs the migrations in the transaction that the caller already holds."""

from alembic import context

from ax_core.store.migrate import VERSION_TABLE
from ax_core.store.tables import metadata

connection = context.config.attributes["connection"]
context.configure(
    connection=connection,
    target_metadata=metadata,
    version_table=VERSION_TABLE,
    transactional_ddl=False,
    render_as_batch=True,
)
context.run_migrations()
