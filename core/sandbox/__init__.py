"""Sandboxes: the decision about one object, and the capacity of their nodes."""
