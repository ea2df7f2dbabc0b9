"""The command `sallyport report`: reports for security reviews."""
