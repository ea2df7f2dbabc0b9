"""A whole cluster as reviews ask it.

The live cluster, a folder of YAML, or either with files laid over it.
"""
