"""The command `sallyport who-can use`."""
