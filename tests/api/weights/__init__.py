"""Model weights, against a real kube-apiserver."""
