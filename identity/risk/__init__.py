"""The risk table: what is known of an identity, and what it means for a request. Pure."""
