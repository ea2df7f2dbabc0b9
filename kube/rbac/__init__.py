"""Kubernetes' RBAC as pure functions over roles and bindings."""
