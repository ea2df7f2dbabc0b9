"""Network clients of the auditor, and of what it reads and anchors at."""
