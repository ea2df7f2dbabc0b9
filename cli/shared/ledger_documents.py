"""Documents of the ledger by kind: those of a window of time, or the one of an id."""

import re
import sys
from collections.abc import AsyncIterator, Callable
from typing import Final, TypeVar

from audit.ledger.log.entries import Document
from audit.ledger.records.frames import FrameKind
from audit.ledger.store.store import Store
from audit.reports.pages import DocumentPages, ReportRequest
from audit.reports.periods import Period
from cli.session import document_progress
from cli.shared.decision_queries import now_ms, read_since
from core.base.errors import SettingsError

T = TypeVar("T")

_TIME_DIGITS: Final = 12
"""Hex digits of an id that are its millisecond."""

_LEAST_DIGITS: Final = 8
_ID: Final = re.compile(r"[0-9a-f]{8}[0-9a-f-]{0,28}")
_LAST_MS: Final = 2**48 - 1


def read_window(since: str, until: str | None, cluster: str | None = None) -> ReportRequest:
    """Return what is asked for between two times that were typed; without an end, to now.

    Raises:
        SettingsError: one of them is no time, or the end is not after the beginning.
    """
    now = now_ms()
    begin = read_since(since, now)
    end = _LAST_MS if until is None else read_since(until, now, "--until")
    if end <= begin:
        raise SettingsError(f"--until {until}: it is not after --since {since}")
    return ReportRequest(Period(begin, end), cluster=cluster)


async def read_kind(
    store: Store, wanted: ReportRequest, kind: FrameKind, decode: Callable[[bytes], T]
) -> AsyncIterator[T]:
    """Yield the documents of a kind, the oldest first; say how many cannot be read.

    Raises:
        LedgerError: the ledger does not give them.
    """
    unreadable = 0
    pages = DocumentPages(store, wanted, document_progress(), kind, wanted.period)
    while (page := await pages.next()) is not None:
        for document in page:
            try:
                decoded = decode(document.payload)
            except ValueError:
                unreadable += 1
                continue
            yield decoded
    if unreadable:
        sys.stderr.write(f"{unreadable} records are of another release: they are not shown\n")


async def find_by_id(
    store: Store, kind: FrameKind, text: str, decode: Callable[[bytes], T]
) -> list[T]:
    """Return the documents of a kind whose id begins so: an id tells its time.

    Raises:
        SettingsError: it is no id, or too short.
        LedgerError: the ledger does not give them.
    """
    digits = text.lower()
    if not _ID.fullmatch(digits):
        raise SettingsError(
            f"{text}: give an id, or at least the {_LEAST_DIGITS} digits it begins with"
        )
    digits = digits.replace("-", "")
    moment = digits[:_TIME_DIGITS]
    begin = int(moment.ljust(_TIME_DIGITS, "0"), 16)
    end = int(moment.ljust(_TIME_DIGITS, "f"), 16) + 1
    pages = DocumentPages(
        store, ReportRequest(Period(begin, end)), lambda _, __: None, kind, Period(begin, end)
    )
    found: list[Document] = []
    while (page := await pages.next()) is not None:
        found += [one for one in page if one.id.hex().startswith(digits)]
    return [decode(one.payload) for one in found]


async def find_one(
    store: Store, kind: FrameKind, text: str, decode: Callable[[bytes], T], command: str
) -> T:
    """Return the document of an id; `command` lists those that there are.

    Raises:
        SettingsError: there is none, or several begin so.
        LedgerError: the ledger does not give it, or it is of another release.
    """
    found = await find_by_id(store, kind, text, decode)
    if not found:
        raise SettingsError(
            f"{text}: the ledger has none of this id; `sallyport {command}` lists them"
        )
    if len(found) > 1:
        raise SettingsError(f"{text}: {len(found)} ids begin so: give more digits")
    return found[0]
