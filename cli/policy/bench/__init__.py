"""The command `sallyport policy bench`."""
