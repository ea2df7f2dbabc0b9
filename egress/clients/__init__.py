"""What talks to name servers."""
