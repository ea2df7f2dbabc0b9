"""Where Microsoft's public cloud signs in and answers; national clouds have their own."""

from typing import Final

AUTHORITY: Final = "https://login.microsoftonline.com"
GRAPH: Final = "https://graph.microsoft.com"
RESOURCE_MANAGER: Final = "https://management.azure.com"

GRAPH_RATE_S: Final = 1.0
"""Seconds between two requests to Graph: a tenant has one a second over all applications."""
