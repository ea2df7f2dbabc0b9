"""Bundles of the settings.

The first in force, the check before one is published, and the registry.
"""
