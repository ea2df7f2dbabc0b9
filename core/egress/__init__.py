"""What people write about egress.

Allowlists, destinations, DNS names, and the Pod labels that policies select.
"""
