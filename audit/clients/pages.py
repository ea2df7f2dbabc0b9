"""Reads one page of an answer that the auditor gives in parts."""

from typing import Protocol, TypeVar

import msgspec

from audit.clients.channel import AuditorChannel
from core.base.errors import LedgerError


class Page(Protocol):
    """What every such answer says."""

    @property
    def format(self) -> int:
        """Its version."""

    @property
    def next(self) -> str:
        """Id to go on after; empty on the last page."""


P = TypeVar("P", bound=Page)


def read_page(channel: AuditorChannel, answer: bytes, shape: type[P], known: int, after: str) -> P:
    """Read a page of format `known`, the one before or the one after; `after` is what was asked.

    Raises:
        LedgerError: it cannot be read, or its pages would not end.
    """
    name = channel.name
    try:
        page = msgspec.json.decode(answer, type=shape)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise LedgerError(f"the auditor {name}: its answer cannot be read") from None
    if abs(page.format - known) > 1:
        raise LedgerError(f"the auditor {name} answers in format {page.format}: upgrade this")
    if page.next and page.next <= after:
        raise LedgerError(f"the auditor {name}: pages without an end")
    return page
