"""What the record is sent to over the network."""
