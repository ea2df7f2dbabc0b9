"""The ingest: takes logs into the ledger in order, attributed, and resumed after a stop."""
