"""What Graph is asked, when, and what its answers say. Pure: `identity.clients` asks."""
