"""A folder of blobs as diagnostic settings write it, and what a source makes of it."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from audit.access.model.batch import RecordBatch
from audit.access.sources.files import BlobFolder
from audit.access.sources.hourly_blobs import HourlyBlobs, HourlySettings
from core.weights.documents.events import LogGap
from tests.harness.worlds.storage_logs import ACCOUNT, resource_id

READS = "insights-logs-storageread"
FIRST = datetime(2026, 5, 1, 9, tzinfo=UTC)
LONG_AFTER = datetime(2026, 7, 1, tzinfo=UTC).timestamp()


def hour_name(hours: int, container: str = READS, account: str = ACCOUNT) -> str:
    """Name the blob of an hour, so many after FIRST."""
    moment = datetime.fromtimestamp(FIRST.timestamp() + 3600 * hours, UTC)
    return (
        f"{container}/resourceId={resource_id(account).upper()}/y={moment:%Y}/m={moment:%m}"
        f"/d={moment:%d}/h={moment:%H}/m=00/PT1H.json"
    )


def record(number: int, hours: int = 0, pad: int = 0) -> bytes:
    """Return a line that looks like a record of an hour."""
    moment = datetime.fromtimestamp(FIRST.timestamp() + 3600 * hours, UTC)
    return b'{"time":"%s.%07dZ","n":%d,"pad":"%s"}\n' % (
        f"{moment:%Y-%m-%dT%H:%M:%S}".encode(),
        number,
        number,
        b"x" * pad,
    )


@dataclass
class Seen:
    """What was read, and the places that a ledger would have."""

    folder: Path
    now: float = LONG_AFTER
    places: dict[str, str] = field(default_factory=dict)

    def put(self, name: str, content: bytes, *, mode: str = "ab") -> Path:
        """Write to a blob; append, where nothing else is said."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open(mode) as file:
            file.write(content)
        return path

    async def stretches(self) -> list[RecordBatch]:
        """Read what is new, as a process would that has just started, and note the places."""
        settings = HourlySettings(follow=False)
        source = HourlyBlobs("logs", "aks-1", BlobFolder(self.folder), settings, lambda: self.now)
        found: list[RecordBatch] = []
        async for stretch in source.stretches(dict(self.places)):
            assert stretch.begin == self.places.get(stretch.name, "")
            self.places[stretch.name] = stretch.end
            found.append(stretch)
        return found

    async def read(self) -> tuple[list[bytes], list[str], list[LogGap]]:
        """Return records, problems and gaps that are new."""
        return told(await self.stretches())


def told(stretches: Iterable[RecordBatch]) -> tuple[list[bytes], list[str], list[LogGap]]:
    """Return records, problems and gaps of stretches."""
    records = [one for stretch in stretches for one in stretch.records]
    gaps = [gap for stretch in stretches for gap in stretch.gaps]
    sound = [one.raw + b"\n" for one in records if not one.problem]
    return sound, [one.problem for one in records if one.problem], gaps
