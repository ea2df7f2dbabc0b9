"""Detections of new ways to sign in or to be let in: credentials, keys, roles, users."""
