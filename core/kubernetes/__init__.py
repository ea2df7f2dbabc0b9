"""Kubernetes objects as far as Sallyport reads them.

Pods and their templates, kinds that carry Pods, volumes, CRDs and selectors.
"""
