"""The audit record: the ledger, accesses to weights, behaviour, and reports."""
