"""Tests of the room `policies`."""
