"""The ledger: decisions on their way from the gate into a store, each exactly once."""
