"""From openings to the objects of each policy engine: pure functions."""
