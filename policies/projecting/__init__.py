"""The parts of the projection, one a file."""
