"""The commands of `sallyport rollout`: enforcing, namespace by namespace."""
