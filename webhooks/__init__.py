"""The gate's HTTP: what kube-apiserver, probes and Prometheus talk to."""
