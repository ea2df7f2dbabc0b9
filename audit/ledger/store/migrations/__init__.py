"""The steps that make the store's tables, run by alembic; one number a step."""
