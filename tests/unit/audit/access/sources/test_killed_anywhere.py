"""Stopped anywhere and taken up from the ledger's places, a source gives each record once."""

import random
from pathlib import Path

from audit.access.sources.files import BlobFolder
from audit.access.sources.hourly_blobs import HourlyBlobs, HourlySettings
from tests.unit.audit.access.sources.hourly_blobs import LONG_AFTER, Seen, hour_name, record


async def test_stopping_after_any_stretch_loses_and_repeats_nothing(tmp_path: Path) -> None:
    """Twenty processes, each killed after a few stretches: the last may or may not be stored."""
    drawn = random.Random(11)  # noqa: S311
    seen = Seen(tmp_path)
    expected: list[bytes] = []
    for hour in range(6):
        for container in ("insights-logs-storageread", "insights-logs-storagewrite"):
            lines = [record(n, hour, pad=drawn.randint(0, 9000)) for n in range(400)]
            seen.put(hour_name(hour, container), b"".join(lines))
            expected += lines
    places: dict[str, str] = {}
    stored: list[bytes] = []
    finished = False
    while not finished:
        source = HourlyBlobs(
            "logs", "aks-1", BlobFolder(tmp_path), HourlySettings(follow=False), lambda: LONG_AFTER
        )
        stretches = source.stretches(dict(places))
        left = drawn.randint(1, 4)
        finished = True
        async for stretch in stretches:
            if not left:
                finished = False
                break
            left -= 1
            places[stretch.name] = stretch.end
            stored += [one.raw + b"\n" for one in stretch.records]
        await stretches.aclose()
    assert sorted(stored) == sorted(expected)
