"""The command `sallyport policy test`."""
