"""A whole cluster as reviews ask it.

Kube-apiserver, a folder of YAML, or either with files laid over it.
"""
