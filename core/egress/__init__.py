"""Egress as people write it.

Allowlists, destinations, DNS names, and the Pod labels that policies select.
"""
