"""The words that all rooms share. Pure: no I/O, no clock, no environment."""
