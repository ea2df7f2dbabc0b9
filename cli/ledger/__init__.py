"""The commands of `sallyport ledger`: proofs that the ledger is what was recorded."""
