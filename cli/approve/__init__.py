"""The command `sallyport approve`: shows what two people must approve, and approves it."""
