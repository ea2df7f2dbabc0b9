"""Accesses to weights: read from logs, attributed, held against grants, and watched."""
