"""People who are at risk: what they may approve and open, and what they wrote and approved."""
