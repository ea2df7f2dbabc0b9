"""The command `sallyport sign-off`: says that a report was read."""
