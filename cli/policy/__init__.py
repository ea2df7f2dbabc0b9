"""The commands of `sallyport policy`, a folder or a module for each verb."""
