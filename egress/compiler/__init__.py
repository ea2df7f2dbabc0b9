"""From allowlists to openings, compared with weight stores and others' policies. Pure."""
