"""Detections: one file each, all of the same shape."""
