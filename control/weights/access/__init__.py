"""Reads from Azure who can open each WeightStore, shows it, and ends what AccessGrants allowed."""
