"""Keeps the CA, the certificates it signs and the keys that sign the ledger in their Secrets."""
