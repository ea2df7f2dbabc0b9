"""The risk snapshot in Secrets, stored and watched."""
