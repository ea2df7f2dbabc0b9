"""The limits of what an allowlist may open without approval or warning. Pure."""
