"""Puts what was measured into a page that people write: between two marks, and nothing else."""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from bench.servers import ROOT

PERFORMANCE: Final = ROOT / "docs" / "performance.md"
PLOTS: Final = ROOT / "docs" / "performance"


def put(page: Path, name: str, lines: Iterable[str]) -> None:
    """Replace what stands between the marks of this name.

    Raises:
        ValueError: the page has no such marks.
    """
    page.write_text(replaced(page.read_text(), name, lines))


def replaced(text: str, name: str, lines: Iterable[str]) -> str:
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
