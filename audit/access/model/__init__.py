"""Types that all parts of the access pipeline share: batches, detections, findings."""
