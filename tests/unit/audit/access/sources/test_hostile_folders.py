"""Whoever may write a folder of logs can neither stop it, lead it out, nor fill the memory."""

import asyncio
import os
from pathlib import Path

import pytest

from audit.access.sources.blob_hours import find_missing_hours, hour_blob
from audit.access.sources.files import BlobFolder, LogFiles

HOUR = "y=2026/m=05/d=01/h=09/m=00"


@pytest.fixture
def blob(tmp_path: Path) -> Path:
    """Return the path of a blob that is not there yet; another lies beside it."""
    here = tmp_path / "logs" / HOUR
    here.mkdir(parents=True)
    (here.parent / "PT1H.json").write_bytes(b"{}\n")
    return here / "PT1H.json"


async def listed(folder: BlobFolder) -> list[str]:
    """Return the names that a folder shows."""
    return [name async for name, _ in folder.names("")]


BESIDE = "y=2026/m=05/d=01/h=09/PT1H.json"


async def test_a_link_in_a_circle_stops_nothing(tmp_path: Path, blob: Path) -> None:
    """It shows no blob; the others are read."""
    os.symlink(blob, blob)  # noqa: PTH211  No async call of its own.
    assert await listed(BlobFolder(tmp_path / "logs")) == [BESIDE]


async def test_a_pipe_is_no_blob(tmp_path: Path, blob: Path) -> None:
    """Whoever opens one waits for ever."""
    os.mkfifo(blob)
    folder = BlobFolder(tmp_path / "logs")
    assert await listed(folder) == [BESIDE]
    async with asyncio.timeout(5):
        assert await folder.read(f"{HOUR}/PT1H.json", 0, 10) == b""


async def test_a_blob_that_becomes_a_link_leads_nowhere(tmp_path: Path, blob: Path) -> None:
    """It is looked at again when it is read, and not only when the folder is listed."""
    secret = tmp_path / "secret"
    secret.write_bytes(b"secret")
    folder = BlobFolder(tmp_path / "logs")
    os.link(blob.parent.parent / "PT1H.json", blob)
    assert len(await listed(folder)) == 2
    os.unlink(blob)  # noqa: PTH108
    os.symlink(secret, blob)  # noqa: PTH211
    assert await folder.read(f"{HOUR}/PT1H.json", 0, 10) == b""


async def test_a_link_that_the_operator_names_is_followed(tmp_path: Path) -> None:
    """He says what is read."""
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "a.json").write_bytes(b'{"a":1}\n')
    link = tmp_path / "link.json"
    link.symlink_to(tmp_path / "real" / "a.json")
    found = [each async for each in LogFiles("f", "c", [link]).stretches({})]
    assert [record.raw for each in found for record in each.records] == [b'{"a":1}']


def test_blobs_of_the_year_one_are_none() -> None:
    """Two dozen of them made a gap of half a million hours, and 1 GiB of it."""
    names = [f"y=0001/m=01/d=01/h={hour:02d}/m=00/PT1H.json" for hour in range(24)]
    assert [hour_blob(name, 1) for name in names] == [None] * 24
    oldest = [f"y=2010/m=01/d=01/h={hour:02d}/m=00/PT1H.json" for hour in range(24)]
    hours = {blob.hour for name in oldest if (blob := hour_blob(name, 1)) is not None}
    assert len(hours) == 24
    (gap,) = find_missing_hours(hours | {494_000}, 494_000, 0, 494_000)
    assert len(gap) < 200_000
