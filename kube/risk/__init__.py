"""The risk snapshot in Secrets, stored and watched; metadata of what an identity left behind."""
