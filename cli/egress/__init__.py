"""The commands of `sallyport egress`: where Pods may connect."""
