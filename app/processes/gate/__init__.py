"""The process that answers kube-apiserver."""
