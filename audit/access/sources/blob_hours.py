"""The blobs of an hour that diagnostic settings write, and how far each was read. Pure.

`insights-logs-storageread/resourceId=/subscriptions/…/y=2026/m=05/d=01/h=09/m=00/PT1H.json` is an
append blob: of JSON lines, and it grows while its hour lasts and for some time after.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from typing import Final

from audit.access.parsers.log_times import EARLIEST_MS
from audit.access.parsers.storage_paths import account_of
from core.base.ids import stable_id
from core.base.times import milli_text
from core.weights.documents.events import FORMAT, LogGap

HOUR_S: Final = 3600

OVERLAP: Final = 64
"""Bytes before the place that are read again: they show whether it is the same blob still."""

USUAL_HOURS: Final = 24
LEAST_USUAL: Final = 22
"""A gap is claimed only where so many of the 24 hours before it have a blob: an hour without
traffic has none, and that is no gap."""

SILENT_HOURS: Final = 3
"""So much later others of the same source must have blobs for one that ended to be a gap."""

_NAME: Final = re.compile(
    r"(?P<folder>.*?)/?y=(?P<y>\d{4})/m=(?P<m>\d\d)/d=(?P<d>\d\d)/h=(?P<h>\d\d)/m=(?P<n>\d\d)"
    r"/[^/]+\.json(?P<gz>\.gz)?"
)
_MARK: Final = re.compile(r"(\d\d/\d\d)=([br])(\d{1,18})~([0-9a-f]{8})(?:/(\d{1,18}))?")


@dataclass(frozen=True, slots=True)
class HourBlob:
    """One blob of an hour, by its name."""

    name: str
    folder: str
    """Container and resource: everything before the day."""
    day: str
    """`y=2026/m=05/d=01`."""
    slot: str
    """`09/00`: hour and minute."""
    begin_s: int
    """Unix seconds at which its hour begins."""
    size: int
    zipped: bool

    @property
    def hour(self) -> int:
        """Hours since the epoch."""
        return self.begin_s // HOUR_S

    @property
    def key(self) -> str:
        """Of the part of the source that it belongs to: a day of a folder."""
        return f"{self.folder}/{self.day}" if self.folder else self.day


def hour_blob(name: str, size: int) -> HourBlob | None:
    """Read a blob's name; None where it is of no hour, or of one before there was such storage."""
    found = _NAME.fullmatch(name)
    if found is None:
        return None
    year, month, day, hour, minute = (found[part] for part in ("y", "m", "d", "h", "n"))
    try:
        begin = datetime(int(year), int(month), int(day), int(hour), int(minute), tzinfo=UTC)
    except ValueError:
        return None
    if begin.timestamp() * 1000 < EARLIEST_MS:  # No log is so old; its gap would be centuries.
        return None
    return HourBlob(
        name=name,
        folder=found["folder"],
        day=f"y={year}/m={month}/d={day}",
        slot=f"{hour}/{minute}",
        begin_s=int(begin.timestamp()),
        size=size,
        zipped=found["gz"] is not None,
    )


@dataclass(frozen=True, slots=True)
class ReadMark:
    """How far a blob was read."""

    at: int = 0
    """Bytes, uncompressed; of a JSON list, records."""
    digest: str = ""
    """Of the last OVERLAP bytes, or of the last record, before it: 8 hex digits."""
    listed: bool = False
    """Whether it is one JSON list, and no lines."""
    size: int = 0
    """What the blob's size was when nothing more was in it, of those whose size says not how far
    they are read: lists, and those under gzip."""


def digest_of(content: bytes) -> str:
    """Return the digest that a mark has of what lies before it."""
    return sha256(content[-OVERLAP:]).hexdigest()[:8] if content else "0" * 8


def read_marks(place: str) -> dict[str, ReadMark]:
    """Read the place of a day: each hour's blob and how far it was read."""
    return {
        slot: ReadMark(int(at), digest, listed=unit == "r", size=int(size or 0))
        for slot, unit, at, digest, size in _MARK.findall(place)
    }


def write_marks(marks: Mapping[str, ReadMark]) -> str:
    """Write the place of a day."""
    return " ".join(
        f"{slot}={'r' if mark.listed else 'b'}{mark.at}~{mark.digest or '0' * 8}"
        f"{f'/{mark.size}' if mark.size else ''}"
        for slot, mark in sorted(marks.items())
    )


def find_missing_hours(
    present: Collection[int], newest: int, judged: int, until: int
) -> list[range]:
    """Return the hours that are missing and were not judged before.

    Args:
        present: hours of a folder that have a blob.
        newest: the last hour of any folder of the source.
        judged: hours of before were judged.
        until: hours from here on can still come.
    """
    if not present:
        return []
    usual, last = set(present), max(present)
    end = last if newest < last + SILENT_HOURS else newest
    found: list[range] = []
    hour = min(present)
    while hour < min(end, until):
        if hour in usual:
            hour += 1
            continue
        after = hour
        while after not in usual and after < min(end, until):
            after += 1
        if len(usual.intersection(range(hour - USUAL_HOURS, hour))) >= LEAST_USUAL:
            usual.update(range(hour, after))
            if after > judged:
                found.append(range(max(hour, judged), after))
        hour = after
    return found


def log_of(folder: str) -> str:
    """Name the log that a folder is of, as `LogGap.log` does."""
    low = folder.lower()
    if "insights-activity-logs" in low or "insights-logs-administrative" in low:
        return "azure-activity"
    return "kubernetes-audit" if "kube-audit" in low else "storage"


def subject_of(folder: str) -> str:
    """Name account and category of a folder, as `LogGap.subject` does."""
    container = folder.partition("/")[0].removeprefix("insights-logs-")
    account = account_of(folder) or folder.rpartition("=")[2].strip("/").lower()
    return f"{account} {container}".strip()


def make_gap(cluster: str, folder: str, *, begin_s: int, end_s: int, why: str) -> LogGap:
    """Return the document of a gap in a folder."""
    subject, log = subject_of(folder), log_of(folder)
    words = (cluster, log, subject, str(begin_s), why)
    return LogGap(
        format=FORMAT,
        id=stable_id(end_s * 1000, "gap", *words),
        cluster=cluster,
        log=log,
        subject=subject,
        begin=milli_text(begin_s * 1000),
        end=milli_text(end_s * 1000),
        why=why,
    )
