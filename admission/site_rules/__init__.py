"""Rules that a site adds to the built-in policies."""
