"""Reports for security reviews, made from the ledger."""
