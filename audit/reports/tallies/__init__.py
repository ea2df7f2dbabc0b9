"""Sums of one pass over the ledger, of bounded size whatever the ledger holds."""
