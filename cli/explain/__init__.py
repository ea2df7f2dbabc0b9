"""The command `sallyport explain`: why a decision was taken, and what would change it."""
