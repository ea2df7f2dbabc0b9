"""Model weights: stores, grants and access paths."""
