"""Detections of requests to storage that overwrite, delete, encrypt or archive weights."""
