"""The protocol of `GET /v1/acts`: what an identity was allowed to do, for looking back on it.

Parameters: `subject` (a label as `DecisionDocument.requester`), `since` and `until` (milliseconds
since the epoch), `after` (the `next` of the page before). The answer is `ActsPage` as JSON: only
what was allowed, the oldest first, and of each decision only what `RecordedAct` holds.
"""

from typing import Final, Protocol

import msgspec

from core.risk.look_back import RecordedAct

PATH: Final = "/v1/acts"

FORMAT: Final = 1
"""Version of the answer; readers know FORMAT - 1 and FORMAT + 1 as well."""

MOST_ANSWER: Final = 4 * 1024 * 1024
"""Bytes of an answer; a page of the longest texts has 2 MB."""


class ActsPage(msgspec.Struct, frozen=True):
    """A part of the acts of one identity."""

    format: int
    acts: list[RecordedAct]
    next: str = ""
    """Id to go on after; empty on the last page."""


class ActsSource(Protocol):
    """Gives the acts of one cluster's identities: an auditor, or a ledger itself."""

    async def page(self, label: str, since_ms: int, until_ms: int, after: str = "") -> ActsPage:
        """Return the acts of a label in a time, after the id of the page before.

        Raises:
            LedgerError: they cannot be read now.
        """
