"""The real cluster of the settings, and the policy that closes a namespace in it."""
