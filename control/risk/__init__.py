"""How `control` learns of risk, and what it does then."""
