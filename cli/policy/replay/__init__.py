"""The command `sallyport policy replay`."""
