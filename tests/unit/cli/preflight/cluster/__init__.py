"""What `sallyport preflight cluster` makes of what it reads."""
