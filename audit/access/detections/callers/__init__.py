"""Detections of who makes requests to storage: grant, Pod, token, risk, refusals."""
