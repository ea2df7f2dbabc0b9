"""A cluster of one node, on which Pods really run."""
