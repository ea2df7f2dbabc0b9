"""What helps the authors of policies: scaffold, tests, costs, lint. Never part of a gate."""
