"""Prints what `sallyport risk look-back` found, for people."""

import textwrap
from collections.abc import Iterator, Sequence
from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from audit.access.model.findings import size_text
from cli.output import name_object
from core.base.safe_text import safe_line
from core.risk.look_back import Item, LookBackDocument, Sort, State, StoreReads

_SHORT_ID: Final = 18
"""Characters of an id: its millisecond, and one of 4096 within it."""

_WIDEST: Final = 120

_COLOURS: Final = {
    Sort.ENTERED: "red",
    Sort.CREDENTIAL: "red",
    Sort.GRANTED: "red",
    Sort.RIGHTS: "red",
    Sort.APPROVAL: "yellow",
    Sort.OPENING: "yellow",
}

_STATES: Final = {
    State.THERE: "there",
    State.OUTLIVES: "until it expires",
    State.UNKNOWN: "not known",
}


def print_look_backs(documents: Sequence[LookBackDocument], console: Console) -> None:
    """Print each, with an empty line between."""
    for number, document in enumerate(documents):
        if number:
            console.print()
        for line in _head(document):
            _say(line, console)
        if document.items:
            console.print()
            console.print(_table(document.items))
            console.print()
        for read in document.reads:
            _say(_read(read), console)
        for line in _foot(document):
            _say(line, console)


def _say(text: str, console: Console) -> None:
    width = min(console.width, _WIDEST)
    lines = textwrap.wrap(safe_line(text), width, break_long_words=False, break_on_hyphens=False)
    console.print(Text("\n".join(lines)))


def _head(document: LookBackDocument) -> Iterator[str]:
    if document.standing:
        events = f", event {', '.join(document.events)}" if document.events else ""
        yield f"{document.subject} is at risk: {document.standing}, since {document.since}{events}."
    else:
        yield f"{document.subject}: nothing says that it is at risk."
    yield f"From {document.begin} to {document.end}:"


def _read(read: StoreReads) -> str:
    """Return the sentence on what it read of one store."""
    doubts = {
        "without a live grant": read.ungranted,
        "by Pods that it asked for": read.by_pods,
        "of which may have been another's Pod": read.unsure,
    }
    told = "".join(f", {count:,} {what}" for what, count in doubts.items() if count)
    much = f"{read.reads:,} reads, {size_text(read.bytes)}"
    return f"Read weights of {read.store}: {much}, from {read.first} to {read.last}{told}."


def _table(items: Sequence[Item]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("WHAT", "WHEN", "HOW", "OBJECT", "PODS", "STILL", "DECISION"):
        table.add_column(column, overflow="fold", no_wrap=column != "OBJECT")
    for item in items:
        cells = (
            item.at,
            item.how + (f" ×{item.acts}" if item.acts > 1 else ""),
            name_object(item.kind, item.namespace, item.name),
            str(item.pods or "–"),
            _STATES[item.state],
            item.decision[:_SHORT_ID] or "–",
        )
        table.add_row(
            Text(item.sort.value, style=_COLOURS.get(item.sort, "")),
            *(Text(safe_line(cell)) for cell in cells),
        )
    return table


def _foot(document: LookBackDocument) -> Iterator[str]:
    if not document.items:
        yield "Nothing that it started, changed or entered is known to be there still."
    if document.more_items:
        yield f"And {document.more_items:,} more objects: they are counted, not listed."
    if document.more_acts:
        yield f"And {document.more_acts:,} decisions on more objects than are told apart."
    if document.gone:
        gone = ", ".join(f"{count} {sort}" for sort, count in document.gone.items())
        yield f"Not there any more: {gone}."
    if document.older:
        yield f"Theirs, but not touched by them in this time as far as is known: {document.older}."
    if document.suspended:
        yield f"Exceptions not in force while the risk lasts: {', '.join(document.suspended)}."
    for gap in document.gaps:
        yield f"Not seen: {gap}."
    if any(item.decision for item in document.items):
        yield "sallyport explain DECISION says more of one."
