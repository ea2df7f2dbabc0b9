"""The commands `gate`, `control`, `auditor` and `run`."""
