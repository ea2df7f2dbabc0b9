"""The library of optional rules."""
