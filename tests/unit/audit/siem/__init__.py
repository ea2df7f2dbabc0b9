"""Detections as queries for a SIEM."""
