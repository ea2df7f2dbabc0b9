"""A synthetic year around three stores of weights, for detections."""
