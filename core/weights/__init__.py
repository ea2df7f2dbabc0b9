"""Model weights.

Stores, grants and access paths, and the ledger documents about accesses, events and Pods.
"""
