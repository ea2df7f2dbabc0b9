"""`sallyport status`: what it makes of what it reads."""
