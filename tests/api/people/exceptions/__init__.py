"""Exceptions that two people approve, in a real kube-apiserver."""
