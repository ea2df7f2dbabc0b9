"""Detections of weights that are read, looked for or copied away, by the requests to storage."""
