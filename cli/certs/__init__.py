"""The command `sallyport certs status`."""
