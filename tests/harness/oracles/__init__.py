"""Independent answers to compare ours with: other engines, specifications, published cases."""
