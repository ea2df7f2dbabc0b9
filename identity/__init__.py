"""Who asks, and whose right counts."""
