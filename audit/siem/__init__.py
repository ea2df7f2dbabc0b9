"""The detections as queries for the SIEM that a team has already."""
