"""Writes the beginnings of a rule or a signal: Rego, METADATA, tests, cases and a page."""
