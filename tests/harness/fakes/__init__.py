"""Servers on loopback for what cannot run here; each keeps the real protocol and its errors."""
