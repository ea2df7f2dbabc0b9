"""WeightStores and grants in memory, lives of Pods, and the objects whose changes are recorded."""
