"""The command `sallyport policy build`."""
