"""What the leader does again and again, one module for each loop."""
