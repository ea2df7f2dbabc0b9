"""Fields of kinds, and rows about them."""
