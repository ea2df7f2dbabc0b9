"""The command `sallyport policy import gatekeeper`."""
