"""Detections: one module each, all of the same shape, in folders by what they look at."""
