"""What evaluates policies elsewhere, over the network."""
