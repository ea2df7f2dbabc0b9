"""The commands of `sallyport profile`: suggest, diff and check."""
