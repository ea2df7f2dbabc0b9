"""Settings, wiring, and the processes that Sallyport runs; no part of the command line."""
