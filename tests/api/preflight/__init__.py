"""`sallyport preflight cluster` looks at a real kube-apiserver that stands for one of AKS."""
