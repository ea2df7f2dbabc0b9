"""Intents as people write and approve them, on a real kube-apiserver that asks a gate."""
