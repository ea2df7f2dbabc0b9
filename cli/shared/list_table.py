"""Lists for people: a table where it fits, and one row below the other in a narrow terminal."""

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from cli.output import SEVERITY_COLOURS
from core.base.safe_text import safe_line

_LEAST_WIDTH: Final = 140
"""Columns of a terminal from which on a table is readable: an id and a time alone take sixty."""

NOTHING: Final = "–"
"""In place of what a row does not have."""


def print_rows(
    console: Console,
    rows: Sequence[Mapping[str, str]],
    *,
    whole: frozenset[str],
) -> None:
    """Print rows, whose keys are the heads of the columns; there is at least one.

    `whole` are columns that are not broken. SEVERITY has its colour.
    """
    if console.width < _LEAST_WIDTH:
        _print_blocks(console, rows)
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in rows[0]:
        table.add_column(column, overflow="fold", no_wrap=column in whole)
    for row in rows:
        table.add_row(*(_cell(column, word) for column, word in row.items()))
    console.print(table)


def _print_blocks(console: Console, rows: Sequence[Mapping[str, str]]) -> None:
    width = max(map(len, chain.from_iterable(rows))) + 2
    for number, row in enumerate(rows):
        if number:
            console.print()
        for column, word in row.items():
            if word != NOTHING:
                head = Text(f"{column.lower():<{width}}", style="dim")
                console.print(Text.assemble(head, _cell(column, word)))


def _cell(column: str, word: str) -> Text:
    style = SEVERITY_COLOURS.get(word, "") if column == "SEVERITY" else ""
    return Text(safe_line(word), style=style)
