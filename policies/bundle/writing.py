"""Writes a file in one step: whoever reads it meanwhile finds the old one or the new one whole."""

from pathlib import Path


def write_whole(path: Path, content: bytes) -> None:
    """Put `content` at `path`, whose folder is made where there is none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    partial.write_bytes(content)
    partial.replace(path)
