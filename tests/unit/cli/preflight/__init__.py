"""Tests of `sallyport preflight`."""
