"""Approvals and the changes that need them.

Exceptions, BreakGlasses, wider profiles and narrower WeightStores.
"""
