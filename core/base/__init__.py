"""The basics of every other folder of core.

The exception tree, names on Kubernetes objects, Sallyport's own kinds read alike, ids, times and
IP networks.
"""
