"""The commands of `sallyport weights`: who can open the weights, and logs of accesses."""
