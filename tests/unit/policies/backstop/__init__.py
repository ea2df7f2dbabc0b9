"""Tests of what the back-stop is made of."""
