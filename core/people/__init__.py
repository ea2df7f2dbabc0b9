"""Who asks, and what two people must approve.

The subject of a request, the two-person rule, and what is read alike of approvable objects.
"""
