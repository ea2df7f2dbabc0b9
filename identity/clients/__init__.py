"""What talks to Entra ID, Graph, Event Hubs and the issuers of security events."""
