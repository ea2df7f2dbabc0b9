"""Tests of notices: what they say, whom they go to, and that each arrives."""
