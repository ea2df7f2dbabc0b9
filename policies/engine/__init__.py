"""Engines that evaluate a bundle: the embedded one, and what it shares with an OPA server."""
