"""Kubernetes objects as far as Sallyport reads them.

Pods and their templates, kinds that carry Pods, owners, volumes, CRDs, selectors.
"""
