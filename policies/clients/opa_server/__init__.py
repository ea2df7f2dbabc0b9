"""The engine on an OPA server: its connections, and how policies get there."""
