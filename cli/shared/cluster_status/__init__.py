"""How an installation stands, read from its cluster: what `sallyport status` shows."""
