"""Real programs beside the tests: a kube-apiserver, databases, and Sallyport's own processes."""
