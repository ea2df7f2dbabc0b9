"""Tests of what `sallyport review -o` prints."""
