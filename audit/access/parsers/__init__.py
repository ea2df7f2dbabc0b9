"""Parsers of the logs of Azure Storage, Azure, Entra ID and kube-apiserver."""
