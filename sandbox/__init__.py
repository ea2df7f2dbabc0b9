"""Which Pods must be isolated, and with what."""
