"""Tests of the room `admission`."""
