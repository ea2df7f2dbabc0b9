"""The command `sallyport quarantine`: records of logs that could not be read."""
