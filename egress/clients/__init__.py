"""Network clients of egress."""
