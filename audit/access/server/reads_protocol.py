"""The protocol of `GET /v1/weight-reads`: what identities read of the weights, for looking back.

Parameters: `subjects` (`LABEL~LABEL@MS`, with commas: each all that one identity is called, and
from when on it counts, milliseconds since the epoch), `until` (milliseconds), `after` (the `next`
of the page before). The answer is `ReadsPage` as JSON: sums by identity and store of a part of the
accesses, which the asker adds up. A label is as `DecisionDocument.requester`, or `client:` and a
client id.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple, Protocol

import msgspec

from core.risk.look_back import StoreReads

PATH: Final = "/v1/weight-reads"

FORMAT: Final = 1
"""Version of the answer; readers know FORMAT - 1 and FORMAT + 1 as well."""

MOST_LABELS: Final = 50
"""Of one question: a query has at most 4 KiB."""

MOST_ANSWER: Final = 4 * 1024 * 1024
"""Bytes of an answer."""


class ReadsSubject(NamedTuple):
    """One identity."""

    labels: tuple[str, ...]
    """All that it is called; the first names it."""
    since_ms: int


class IdentityReads(msgspec.Struct, frozen=True):
    """What one identity read of one store."""

    subject: str
    """The first of its labels."""
    reads: StoreReads


class ReadsPage(msgspec.Struct, frozen=True):
    """What a part of the accesses comes to."""

    format: int
    reads: list[IdentityReads]
    next: str = ""
    """Id to go on after; empty on the last page."""


class ReadsSource(Protocol):
    """Gives the reads of one cluster's weights: an auditor, or a ledger itself."""

    async def page(
        self, subjects: Sequence[ReadsSubject], until_ms: int, after: str = ""
    ) -> ReadsPage:
        """Return the sums of a part of the accesses, after the id of the page before.

        Raises:
            LedgerError: they cannot be read now.
        """
