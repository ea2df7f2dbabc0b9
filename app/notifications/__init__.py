"""Sinks of notices, by the section `notifications` of the settings."""
