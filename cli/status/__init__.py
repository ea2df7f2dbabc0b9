"""The command `sallyport status`: how an installation stands, on one screen."""
