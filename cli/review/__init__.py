"""The command `sallyport review`: manifests judged without a gate, in five formats."""
