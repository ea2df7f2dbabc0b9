"""Network clients of Entra ID, Graph, Event Hubs and issuers of security events."""
