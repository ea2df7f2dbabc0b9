"""Text of others, made safe to show: it may hold terminal escapes, or be megabytes long."""

from core.policy_bundles import LONGEST_PROBLEM


def safe_line(text: str) -> str:
    """Give one line without control characters; line ends are spelt out too."""
    return "".join(char if char.isprintable() else _spell(char) for char in text)


def told(text: str) -> str:
    """Give as much of a problem as is shown, in one safe line."""
    return safe_line(text[:LONGEST_PROBLEM])[:LONGEST_PROBLEM]


def _spell(char: str) -> str:
    return char.encode("unicode_escape", errors="replace").decode()
