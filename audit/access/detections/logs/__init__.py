"""Detections of logs that are missing, or whose target is deleted."""
