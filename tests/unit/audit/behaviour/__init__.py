"""Tests of what the auditor learns of behaviour."""
