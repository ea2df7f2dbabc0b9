"""Requests at a steady rate, and what became of each."""
