"""Every kind that carries Pods, on a real kube-apiserver with the real controllers."""
