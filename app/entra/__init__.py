"""Clients of Entra ID and their tokens, by the settings."""
