"""`sallyport preflight cluster`: looks at a cluster before Sallyport is installed in it."""
