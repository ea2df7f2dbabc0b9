"""Records on their way to the ledger: frames, who makes them, and where they go."""
