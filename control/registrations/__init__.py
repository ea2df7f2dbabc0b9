"""Keeps what is registered with kube-apiserver as the chart says it: webhooks and policies."""
