"""Gate and ledger in one process on a person's machine."""
