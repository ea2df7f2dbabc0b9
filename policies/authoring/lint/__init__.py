"""Finds what is wrong with rules before they are asked: a form, a gap, something undefined."""
