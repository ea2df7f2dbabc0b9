"""`make bench WHAT=…`: what Sallyport costs, and how that grows."""
