"""Fuzzers, guided by coverage (atheris): what strangers and other systems send, as it is read."""
