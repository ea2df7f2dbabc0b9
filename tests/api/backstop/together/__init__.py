"""The back-stop beside a gate."""
