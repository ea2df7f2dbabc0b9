"""Where records go: the recorder with its spool, the ledger, and the folder of `sallyport run`."""
