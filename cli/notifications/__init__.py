"""The command `sallyport notifications`: sinks tried, and how they are."""
