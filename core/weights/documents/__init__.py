"""The documents that the ledger keeps about weights.

Accesses, events around them, refused log records, lives of Pods, changed objects, and who can open
a store.
"""
