"""What several commands of `sallyport policy` share."""
