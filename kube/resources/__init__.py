"""Kubernetes' own kinds, as far as Sallyport reads them."""
