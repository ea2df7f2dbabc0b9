"""Gathers the facts of one request and runs the chain of checks on them. No HTTP."""
