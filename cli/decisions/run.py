"""`sallyport decisions`: what the ledger holds, as a table or JSON, and as it comes."""

import asyncio
import sys
from collections.abc import Callable, Iterable
from typing import Final

import msgspec
from rich.console import Console

from app.records.ledger import open_ledger
from app.settings.root import Settings
from audit.ledger.store.decisions import MOST_ROWS, DecisionQuery
from audit.ledger.store.store import Store
from cli.decisions.render import DecisionPrinter, clusters_of, decision_table
from cli.output import Format, print_json
from cli.shared.decision_queries import now_ms
from core.base.ids import uuid7_unix_ms
from core.decision.document import (
    decode_document,
)

POLL_S: Final = 1.0

LATE_MS: Final = 10_000
"""How much later than a younger one a decision may come and still be shown by --follow: gates
ship each at its own pace."""

_PAGE: Final = 1000


async def show(settings: Settings, query: DecisionQuery, output: Format, console: Console) -> None:
    """Print the decisions that the query means.

    Raises:
        LedgerError: there is no ledger, or it cannot be read.
    """
    async with open_ledger(settings) as store:
        asked = msgspec.structs.replace(query, limit=min(query.limit + 1, MOST_ROWS))
        found = await store.find(asked)
    more, found = len(found) > query.limit, found[: query.limit]
    if output is Format.JSON:
        print_json([msgspec.Raw(document) for document in found])
    elif found:
        documents = list(map(decode_document, found))
        console.print(
            decision_table(documents, head=True, clusters=len(clusters_of(documents)) > 1)
        )
    else:
        sys.stderr.write("no decision matches: ask for fewer things, or further back (--since)\n")
    if more:
        sys.stderr.write(f"there are more: --before {decode_document(found[-1]).id}\n")


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
        printer = DecisionPrinter(output, console)
        while True:
            printer.print(shown)
            await asyncio.sleep(POLL_S)
            shown = await tail.read(store)


class _Tail:
    """Which decisions have been shown, of the last LATE_MS and of what lies ahead."""

    def __init__(self, query: DecisionQuery, now_ms: Callable[[], int]) -> None:
        self._query = query
        self._now_ms = now_ms
        self._newest_ms = now_ms()
        self._seen: set[tuple[str, str]] = set()

    async def read(self, store: Store) -> list[bytes]:
        """Return the decisions that have come since, the oldest first."""
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
        """Return the decisions that were not seen before, and mark them as seen."""
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
