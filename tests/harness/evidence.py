"""Dated results of proof runs, kept in docs/evidence/ or between the marks of a page."""

import datetime as dt
import os
import platform
from collections.abc import Iterable
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]


def record(name: str, lines: Iterable[str]) -> Path:
    """Write docs/evidence/`name`.md: a heading, the date, the machine, then `lines`."""
    now = dt.datetime.now(dt.UTC)
    machine = f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}"
    head = [f"# {name.replace('-', ' ').capitalize()}", "", f"- Date: {now:%Y-%m-%d %H:%M} UTC"]
    path = ROOT / "docs" / "evidence" / f"{name}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join([*head, f"- Machine: {machine}", *lines]) + "\n")
    return path


def put_between_marks(page: Path, name: str, lines: Iterable[str]) -> None:
    """Replace what stands between the marks of this name.

    Raises:
        ValueError: the page has no such marks.
    """
    page.write_text(replace_between_marks(page.read_text(), name, lines))


def replace_between_marks(text: str, name: str, lines: Iterable[str]) -> str:
    """Return the text with `lines` between `<!-- NAME begins -->` and `<!-- NAME ends -->`.

    Raises:
        ValueError: it has not exactly one such pair, in this order.
    """
    begin, end = f"<!-- {name} begins -->", f"<!-- {name} ends -->"
    head, found, rest = text.partition(begin)
    _, closed, tail = rest.partition(end)
    if not (found and closed) or begin in rest:
        raise ValueError(f"put one {begin} and, after it, one {end} into the page")
    return "\n".join([head + begin, *lines, end + tail])
