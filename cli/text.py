"""Text of others, made safe to print: manifests and file names may hold terminal escapes."""

from core.safe_text import safe_line

__all__ = ["safe_line", "safe_text"]


def safe_text(text: str) -> str:
    """Return lines without any control character but the line ends."""
    return "\n".join(map(safe_line, text.split("\n")))
