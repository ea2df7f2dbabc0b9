"""Who asks, and for whom: through a real kube-apiserver."""
