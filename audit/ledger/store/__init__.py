"""The store: decisions, projections and sweeps in SQLite or PostgreSQL, each exactly once."""
