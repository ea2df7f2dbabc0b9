"""A site's own rules, with a real kube-apiserver."""
