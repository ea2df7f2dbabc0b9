"""The commands of `sallyport risk`: who is at risk, and what that does."""
