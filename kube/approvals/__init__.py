"""PolicyExceptions, BreakGlasses and approvals in memory; the objects whose changes are recorded."""
