"""Look-backs: what an identity that came to be at risk has left behind. Pure."""
