"""`sallyport support-bundle`: what goes into it, and what never does."""
