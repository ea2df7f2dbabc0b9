"""Addresses of DNS names: asked for, learnt, stored, and which of them may be opened."""
