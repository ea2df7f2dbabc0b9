"""WeightStores, grants and openings in memory, who can open a store, and the lives of Pods."""
