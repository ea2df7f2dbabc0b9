"""The back-stop: what kube-apiserver itself refuses, made from the rules that the gate goes by."""
