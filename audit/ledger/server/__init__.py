"""The auditor's HTTP over mutual TLS: takes frames and answers questions."""
