"""Microsoft Graph: its requests, when they are due, and its answers. Pure: no network."""
