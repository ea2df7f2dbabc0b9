"""Every access to the weights: read from logs, attributed, held against grants, detected."""
