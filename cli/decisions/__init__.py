"""The command `sallyport decisions`: what the ledger holds, listed."""
