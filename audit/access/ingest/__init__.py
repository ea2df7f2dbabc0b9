"""Takes logs into the ledger: in order, attributed, watched, and resumed after a stop."""
