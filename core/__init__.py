"""The types that all rooms share: no I/O, no clock."""
