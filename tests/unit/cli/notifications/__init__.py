"""Tests of `sallyport notifications`."""
