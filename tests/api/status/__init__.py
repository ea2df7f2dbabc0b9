"""`sallyport status` of a whole installation behind a real kube-apiserver, well and broken."""
