"""Observed connections, read from Hubble, Azure's flow logs or CSV. Pure."""
