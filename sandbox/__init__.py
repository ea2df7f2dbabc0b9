"""Which Pods must run in a sandbox, and in which."""
