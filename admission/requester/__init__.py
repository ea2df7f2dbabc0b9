"""Who asked for an object: the gate's notes on it, and the owners that it is traced to."""
