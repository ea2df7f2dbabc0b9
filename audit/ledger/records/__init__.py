"""What is recorded: frames, who makes them of documents, and where they go."""
