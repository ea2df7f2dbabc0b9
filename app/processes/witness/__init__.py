"""The process `sallyport ledger witness --listen`."""
