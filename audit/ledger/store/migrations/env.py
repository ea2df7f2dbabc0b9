"""What alembic runs: the steps, on the connection that `audit.ledger.store.schema` opened."""

from alembic import context

context.configure(connection=context.config.attributes["connection"])
context.run_migrations()
