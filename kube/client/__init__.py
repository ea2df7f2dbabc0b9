"""The connection to kube-apiserver: credentials, single objects, lists and exec."""
