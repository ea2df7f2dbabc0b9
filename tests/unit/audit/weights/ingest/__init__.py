"""Tests of taking logs into the ledger."""
