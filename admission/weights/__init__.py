"""Requests that reach model weights: by which paths, and under which AccessGrants."""
