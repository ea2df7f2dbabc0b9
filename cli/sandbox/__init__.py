"""The command `sallyport sandbox report`."""
