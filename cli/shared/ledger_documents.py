"""Documents of the ledger by kind: those of a window of time, or the one of an id."""

import re
import sys
from collections.abc import AsyncIterator, Callable
from typing import Final, TypeVar
from uuid import UUID

from audit.ledger.log.entries import Document
from audit.ledger.records.frames import FrameKind
from audit.ledger.store.store import Store
from audit.reports.pages import DocumentPages, ReportRequest
from audit.reports.periods import Period
from cli.session import document_progress
from cli.shared.decision_queries import now_ms, read_since
from core.base.errors import LedgerError, SettingsError

T = TypeVar("T")

_TIME_DIGITS: Final = 12
"""Hex digits of an id that are its millisecond."""

_LEAST_DIGITS: Final = 8
_ID: Final = re.compile(r"[0-9a-f]{8}[0-9a-f-]{0,28}")
LAST_MS: Final = 2**48 - 1
"""The latest time that an id can tell."""
_MOST_NAMED: Final = 10
"""Documents of one beginning that are looked at: seconds of a busy store have thousands."""


class AmbiguousIdError(SettingsError):
    """More than one document is meant."""


def read_window(since: str, until: str | None, cluster: str | None = None) -> ReportRequest:
    """Return what is asked for between two times that were typed; without an end, to now.

    Raises:
        SettingsError: one of them is no time, or the end is not after the beginning.
    """
    now = now_ms()
    begin = read_since(since, now)
    end = LAST_MS if until is None else read_since(until, now, "--until")
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


async def find_one(  # noqa: PLR0913, PLR0917  what is looked for, and what says where to look
    store: Store,
    kind: FrameKind,
    text: str,
    decode: Callable[[bytes], T],
    command: str,
    cluster: str | None = None,
) -> T:
    """Return the document whose id is or begins so; `command` lists those that there are.

    Raises:
        AmbiguousIdError: several ids begin so, or several clusters have it.
        SettingsError: it is no id, is too short, or the ledger has none.
        LedgerError: the ledger does not give it, or it is of another release.
    """
    found = await _find_some(store, kind, read_id(text), cluster)
    if not found:
        raise SettingsError(
            f"{text}: the ledger has none of this id; `sallyport {command} list` lists them"
        )
    ids = list(dict.fromkeys(str(UUID(bytes=one.id)) for one in found))
    if len(ids) > 1:
        raise AmbiguousIdError(f"{text}: several ids begin so, {ids[0]} and {ids[1]}: give more")
    if len(found) > 1:
        clusters = ", ".join(one.cluster for one in found)
        raise AmbiguousIdError(
            f"{text}: several clusters have it ({clusters}): choose one with --cluster-id of "
            f"`sallyport {command}`"
        )
    try:
        return decode(found[0].payload)
    except ValueError as error:
        raise LedgerError(
            f"{text}: the record is of another release, and this one cannot read it: {error}"
        ) from None


def read_id(text: str) -> str:
    """Return the hex digits of an id, or of how it begins.

    Raises:
        SettingsError: it is no id, or is too short.
    """
    digits = text.lower()
    if not _ID.fullmatch(digits):
        raise SettingsError(
            f"{text or 'an empty id'}: give an id, or at least the {_LEAST_DIGITS} digits it "
            "begins with"
        )
    return digits.replace("-", "")


async def _find_some(
    store: Store, kind: FrameKind, digits: str, cluster: str | None
) -> list[Document]:
    """Return documents whose id begins so, no more than are named: an id tells its time."""
    moment = digits[:_TIME_DIGITS]
    begin = int(moment.ljust(_TIME_DIGITS, "0"), 16)
    end = int(moment.ljust(_TIME_DIGITS, "f"), 16) + 1
    wanted = ReportRequest(Period(begin, end), cluster=cluster)
    pages = DocumentPages(store, wanted, lambda _, __: None, kind, wanted.period)
    found: list[Document] = []
    while len(found) < _MOST_NAMED and (page := await pages.next()) is not None:
        found += [one for one in page if one.id.hex().startswith(digits)]
    return found[:_MOST_NAMED]
