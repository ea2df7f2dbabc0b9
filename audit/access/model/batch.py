"""What every source of logs gives: batches of records, and the place from which to go on."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

from core.weights.documents.events import LogGap

MOST_BATCH: Final = 4 * 1024 * 1024
"""Bytes of records in one batch, but for a single record that is larger."""

MOST_RECORD: Final = 1024 * 1024
"""Bytes of one record: a line that is longer is none (Azure's own limit is 1 MB a message)."""

SourcePlaces = Mapping[str, str]
"""By `RecordBatch.name`, where each part of a source was read to, as the ledger keeps it."""


class SourceRecord(NamedTuple):
    """One record as it came, or what came in its place."""

    raw: bytes
    place: str
    """Where it lies in the source: blob and byte, partition and offset, file and line."""
    problem: str = ""
    """Why it is no record at all; empty where it is for the parsers to say."""


@dataclass(frozen=True, slots=True)
class RecordBatch:
    """Records that stand together in one part of a source.

    They and `end` are stored in one transaction, or neither is.
    """

    source: str
    """The name that the operator gave it."""
    key: str
    """Which part: a day of an account's category, a partition, a file."""
    begin: str
    """Place before the first record; empty at the part's beginning."""
    end: str
    """Place after the last: what the source goes on from."""
    records: Sequence[SourceRecord]
    gaps: Sequence[LogGap] = ()
    """What the source saw missing around them."""

    @property
    def name(self) -> str:
        """Under which `end` is kept in the ledger."""
        return f"{self.source}:{self.key}"


class LogSource(Protocol):
    """Somewhere logs come from."""

    @property
    def name(self) -> str:
        """The name that the operator gave it."""

    def stretches(self, places: SourcePlaces) -> AsyncGenerator[RecordBatch, None]:
        """Yield what came after these places, part by part in its order.

        A source that is followed never ends; one that is not ends where there is no more.
        Who stops using it closes the iterator (`aclose`).

        Raises:
            SourceError: it cannot be read; who asks begins anew from the ledger's places.
        """
