"""Reads records of logs of storage, of Azure and of kube-apiserver: what each one tells."""
