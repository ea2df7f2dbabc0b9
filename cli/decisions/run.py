"""`sallyport decisions`: what the ledger holds, as a table or JSON, and as it comes."""

import asyncio
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Final

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from app.ledger import open_ledger
from app.settings.root import Settings
from audit.ledger.store.decisions import DecisionQuery
from audit.ledger.store.store import Store
from cli.output import COLOURS, WORDS, Format, name_object, print_json
from cli.shared.decision_queries import now_ms
from core.decision.document import (
    DecisionDocument,
    DecisionSource,
    decode_document,
    uuid7_time,
    uuid7_unix_ms,
)
from core.safe_text import safe_line

POLL_S: Final = 1.0

LATE_MS: Final = 10_000
"""How much later than a younger one a decision may come and still be shown by --follow: gates
ship each at its own pace."""

_PAGE: Final = 1000
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


async def show(settings: Settings, query: DecisionQuery, output: Format, console: Console) -> None:
    """Print the decisions that the query means.

    Raises:
        LedgerError: there is no ledger, or it cannot be read.
    """
    async with open_ledger(settings) as store:
        found = await store.find(query)
    if output is Format.JSON:
        print_json([msgspec.Raw(document) for document in found])
    elif found:
        documents = list(map(decode_document, found))
        console.print(_table(documents, head=True, clusters=len(_clusters(documents)) > 1))
    else:
        sys.stderr.write("no decision matches: ask for fewer things, or further back (--since)\n")


async def follow(
    settings: Settings, query: DecisionQuery, output: Format, console: Console
) -> None:
    """Print the last decisions that the query means, then each that comes, until cancelled.

    Raises:
        LedgerError: there is no ledger, or it cannot be read.
    """
    async with open_ledger(settings) as store:
        tail = _Tail(query, now_ms)
        await tail.read(store)  # What is older than the last ones is not news.
        shown = (await store.find(query))[::-1]
        tail.note(shown)
        printer = _Printer(output, console)
        while True:
            printer.print(shown)
            await asyncio.sleep(POLL_S)
            shown = await tail.read(store)


class _Printer:
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
            self._clusters |= _clusters(documents)
            several = len(self._clusters) > 1
            head = before == 0 or (before == 1 and several)
            self._console.print(_table(documents, head=head, clusters=several))
        for document in shown if self._output is Format.JSON else ():
            sys.stdout.buffer.write(msgspec.json.format(document, indent=-1) + b"\n")
        sys.stdout.flush()


class _Tail:
    """Which decisions have been shown, of the last LATE_MS and of what lies ahead."""

    def __init__(self, query: DecisionQuery, now_ms: Callable[[], int]) -> None:
        self._query = query
        self._now_ms = now_ms
        self._newest_ms = now_ms()
        self._seen: set[tuple[str, str]] = set()

    async def read(self, store: Store) -> list[bytes]:
        """Return what has come since, the oldest first."""
        since = max(self._newest_ms - LATE_MS, self._query.since_ms or 0)
        self._seen = {each for each in self._seen if uuid7_unix_ms(each[1]) >= since}
        fields = {"since_ms": since, "oldest_first": True, "limit": _PAGE}
        query = msgspec.structs.replace(self._query, **fields)
        new: list[bytes] = []
        while page := await store.find(query):
            query = msgspec.structs.replace(query, after=decode_document(page[-1]).id)
            new += self.note(page)
        return new

    def note(self, documents: Iterable[bytes]) -> list[bytes]:
        """Return those that were not seen before, and see them."""
        new = []
        now_ms = self._now_ms()
        for document in documents:
            decoded = decode_document(document)
            key = (decoded.cluster, decoded.id)
            if key not in self._seen:
                new.append(document)
            self._seen.add(key)
            self._newest_ms = max(self._newest_ms, min(now_ms, uuid7_unix_ms(decoded.id)))
        return new


def _clusters(documents: Iterable[DecisionDocument]) -> set[str]:
    return {document.cluster for document in documents}


def _table(documents: Sequence[DecisionDocument], *, head: bool, clusters: bool) -> Table:
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
