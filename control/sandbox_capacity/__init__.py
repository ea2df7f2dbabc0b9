"""Keeps what the sandbox nodes can still take in a ConfigMap, for the gate."""
