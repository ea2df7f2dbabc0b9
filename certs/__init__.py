"""Keys and certificates, and their rotation."""
