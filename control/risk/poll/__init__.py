"""Polls Entra ID's risk from Microsoft Graph."""
