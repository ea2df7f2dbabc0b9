"""What somebody who came to be at risk has left behind. Pure."""
