"""The spool: recorded frames wait on disk until the auditor acknowledges them."""
