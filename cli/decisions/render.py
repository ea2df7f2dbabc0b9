"""Prints decisions: a table, or JSON, and as they come."""

import sys
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from cli.output import COLOURS, WORDS, Format, name_object
from core.base.ids import uuid7_time
from core.base.safe_text import safe_line
from core.decision.document import (
    DecisionDocument,
    DecisionSource,
    decode_document,
)

_SHORT_ID: Final = 18
"""Characters of an id: its millisecond, and one of 4096 within it."""

_MOST_RULES: Final = 3
_SOURCES: Final[dict[DecisionSource, str]] = {
    "validate": "gate",
    "mutate": "mutate",
    "sweep": "sweep",
}
_LEAST: Final = {"VERDICT": 10, "SOURCE": 6, "CLUSTER": 36, "OBJECT": 12, "WHO": 12}
"""Least widths, so that what follows later stands below what came first."""


class DecisionPrinter:
    """Prints decisions as they come: a head first, and again when the column CLUSTER appears."""

    def __init__(self, output: Format, console: Console) -> None:
        self._output = output
        self._console = console
        self._clusters: set[str] = set()

    def print(self, shown: Sequence[bytes]) -> None:
        """Print these, the oldest first."""
        if shown and self._output is Format.TABLE:
            documents = list(map(decode_document, shown))
            before = len(self._clusters)
            self._clusters |= clusters_of(documents)
            several = len(self._clusters) > 1
            head = before == 0 or (before == 1 and several)
            self._console.print(decision_table(documents, head=head, clusters=several))
        for document in shown if self._output is Format.JSON else ():
            sys.stdout.buffer.write(msgspec.json.format(document, indent=-1) + b"\n")
        sys.stdout.flush()


def clusters_of(documents: Iterable[DecisionDocument]) -> set[str]:
    """Return the ids of the clusters that took the decisions."""
    return {document.cluster for document in documents}


def decision_table(documents: Sequence[DecisionDocument], *, head: bool, clusters: bool) -> Table:
    """Return the table; `clusters`: with the column CLUSTER."""
    table = Table(box=None, pad_edge=False, header_style="bold", show_header=head)
    first = ["TIME", "VERDICT", "SOURCE", *(["CLUSTER"] if clusters else [])]
    for column in (*first, "OBJECT", "WHO", "PROFILE", "RULES", "ID"):
        whole = column in {"TIME", "VERDICT", "SOURCE", "ID"}
        table.add_column(column, overflow="fold", no_wrap=whole, min_width=_LEAST.get(column))
    short = [document.id[:_SHORT_ID] for document in documents]
    for document, beginning in zip(documents, short, strict=True):
        shown_id = beginning if short.count(beginning) == 1 else document.id
        table.add_row(*_row(document, shown_id, clusters=clusters))
    return table


def _row(document: DecisionDocument, shown_id: str, *, clusters: bool) -> tuple[Text, ...]:
    asked = document.request
    cells = (
        _SOURCES[document.source],
        *([document.cluster] if clusters else []),
        name_object(asked.kind, asked.namespace, asked.name),
        _who(document),
        document.profile or "–",
        _rules(document),
        shown_id,
    )
    return (
        Text(f"{uuid7_time(document.id)[:19]}Z"),
        Text(WORDS[document.verdict], style=COLOURS[document.verdict]),
        *(Text(safe_line(cell)) for cell in cells),
    )


def _who(document: DecisionDocument) -> str:
    """Name who asked; of what a controller made, who asked for the workload first."""
    human = document.root.requester if document.root else ""
    return f"{human} through {document.requester}" if human else document.requester


def _rules(document: DecisionDocument) -> str:
    if document.error_kind:
        return f"error/{document.error_kind}"
    named = list(dict.fromkeys(finding.rule for finding in document.findings))
    more = [f"and {len(named) - _MOST_RULES} more"] if len(named) > _MOST_RULES else []
    return ", ".join([*named[:_MOST_RULES], *more]) or "–"
