"""`sallyport quarantine`: records of logs that could not be read, and why."""

from collections import Counter
from typing import Final

import msgspec

from app.records.ledger import open_ledger
from app.settings.root import Settings
from audit.ledger.records.frames import FrameKind
from audit.reports.pages import ReportRequest
from cli.shared.ledger_documents import find_one, read_kind
from core.base.ids import uuid7_time
from core.weights.documents.intake import RefusedRecord, decode_refused

FORMAT: Final = 1
"""Of `-o json`."""


class QuarantinedLine(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One record in quarantine, without what it says: that may be anything."""

    id: str
    time: str
    """RFC 3339: when it came."""
    cluster: str
    source: str
    place: str
    """Where it lies in the source: blob and byte, partition and offset, file and line."""
    reason: str
    size: int
    """Bytes."""
    digest: str


class QuarantineList(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """`sallyport quarantine list -o json`."""

    format: int
    records: list[QuarantinedLine]
    """The newest first."""
    more: int
    """Older ones of the same window that `--limit` left out."""
    reasons: dict[str, int]
    """Records by reason, of all of the window that are asked for."""


class ShownRecord(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """`sallyport quarantine show -o json`."""

    format: int
    record: QuarantinedLine
    begins: str | None
    """How the record begins, as it came; null unless `--record` asked for it."""


async def list_quarantine(
    settings: Settings, wanted: ReportRequest, source: str, limit: int
) -> QuarantineList:
    """Return the newest records of a window, of one source or of all.

    Raises:
        LedgerError: there is no ledger, or it does not answer.
    """
    async with open_ledger(settings) as store:
        found = [
            _line(one)
            async for one in read_kind(store, wanted, FrameKind.REFUSED, decode_refused)
            if source in {"", one.source}
        ]
    found.sort(key=lambda one: one.id, reverse=True)
    reasons = Counter(one.reason for one in found)
    return QuarantineList(
        format=FORMAT,
        records=found[:limit],
        more=max(len(found) - limit, 0),
        reasons=dict(reasons.most_common()),
    )


async def show_record(
    settings: Settings, record_id: str, cluster: str | None = None, *, is_whole: bool
) -> ShownRecord:
    """Return one record, and how it begins where that is asked for.

    Raises:
        SettingsError: the id is none, or none that the ledger has.
        LedgerError: there is no ledger, or it does not answer.
    """
    async with open_ledger(settings) as store:
        found = await find_one(
            store, FrameKind.REFUSED, record_id, decode_refused, "quarantine", cluster
        )
    return ShownRecord(
        format=FORMAT, record=_line(found), begins=found.record if is_whole else None
    )


def _line(record: RefusedRecord) -> QuarantinedLine:
    return QuarantinedLine(
        id=record.id,
        time=uuid7_time(record.id),
        cluster=record.cluster,
        source=record.source,
        place=record.place,
        reason=record.reason,
        size=record.size,
        digest=record.digest,
    )
