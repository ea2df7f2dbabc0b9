"""The command `sallyport policy lint`."""
