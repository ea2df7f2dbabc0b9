"""Who reaches model weights, decided at a real kube-apiserver."""
