"""What is known of an identity, and what a table says that it means for a request. Pure."""
