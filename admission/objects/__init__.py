"""Kinds of objects and requests: what of each is judged, for whom, by which policies."""
