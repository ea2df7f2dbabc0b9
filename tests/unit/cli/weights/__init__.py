"""`sallyport weights`."""
