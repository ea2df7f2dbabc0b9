"""The command `sallyport preflight`."""
