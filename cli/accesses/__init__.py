"""The command `sallyport accesses`: requests to the storage of model weights."""
