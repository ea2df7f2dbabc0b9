"""What happened: the record of decisions, and how it is kept."""
