"""A real kube-apiserver for the tests, the Pods they ask it about, and the gate beside it."""
