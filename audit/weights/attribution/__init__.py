"""Whose Pod an access was: what the ledger knows of Pods and identities, and what follows."""
