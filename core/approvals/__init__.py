"""Approvals and what needs them.

Exceptions, BreakGlasses, wider profiles, narrower WeightStores.
"""
