"""Who asks, whose right counts, and how risky they are now."""
