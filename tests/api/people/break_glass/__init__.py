"""BreakGlasses in a real kube-apiserver: sealed by two people, opened once."""
