"""Kubernetes' own kinds as far as Sallyport reads them, and lists of any kind's metadata."""
