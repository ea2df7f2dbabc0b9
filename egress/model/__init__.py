"""Openings, the facts of a cluster that they depend on, and words for them. Pure."""
