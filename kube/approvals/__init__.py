"""PolicyExceptions, BreakGlasses and approvals in memory; objects whose changes are recorded."""
