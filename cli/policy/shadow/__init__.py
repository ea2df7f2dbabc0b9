"""The command `sallyport policy shadow`."""
