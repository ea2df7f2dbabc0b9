"""Statuses of what needs approval, and of the approvals: `control` writes, people read."""
