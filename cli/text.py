"""Text of others, made safe to print: manifests and file names may hold terminal escapes."""


def safe_line(text: str) -> str:
    """Give one line without control characters; line ends are spelt out too."""
    return "".join(char if char.isprintable() else _spell(char) for char in text)


def safe_text(text: str) -> str:
    """Give lines without any control character but the line ends."""
    return "\n".join(map(safe_line, text.split("\n")))


def _spell(char: str) -> str:
    return char.encode("unicode_escape", errors="replace").decode()
