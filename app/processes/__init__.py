"""The processes that Sallyport runs: gate, control, auditor, and all in one on a laptop."""
