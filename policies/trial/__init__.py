"""Tries a bundle out before it may be put in force, here or in a process with limits."""
