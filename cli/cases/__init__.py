"""The command `sallyport cases`: findings that tell one story."""
