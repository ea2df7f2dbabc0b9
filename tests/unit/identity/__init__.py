"""Tests of the room `identity`."""
