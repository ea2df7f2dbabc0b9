"""Ways to widen what an allowlist opens, on a real kube-apiserver with gate, guards and control."""
