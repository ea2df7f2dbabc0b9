"""What `sallyport egress` explains, plans, verifies, suggests and draws. Pure."""
