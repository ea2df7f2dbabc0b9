"""`sallyport findings`, `cases`, `accesses` and `quarantine`."""
