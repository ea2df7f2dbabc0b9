"""What is noticed around the weights: one detection a file, each of the same shape."""
