"""What the auditor serves over mutual TLS: it takes frames and answers questions."""
