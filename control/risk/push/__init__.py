"""Receives risk that is pushed: security event tokens over HTTPS, and records of an event hub."""
