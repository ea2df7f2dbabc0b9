"""Tells people and their systems what the ledger has: notices, whom they go to, and delivery."""
