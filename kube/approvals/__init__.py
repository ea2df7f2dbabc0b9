"""PolicyExceptions, BreakGlasses and approvals in memory."""
