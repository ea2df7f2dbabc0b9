"""The process that keeps the ledger."""
