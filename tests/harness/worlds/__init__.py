"""Pods, reviews, logs and clusters to test on, made by seed or recorded."""
