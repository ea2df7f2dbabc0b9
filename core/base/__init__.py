"""What every other folder of core stands on.

The exception tree, names on Kubernetes objects, ids, times, IP networks.
"""
