"""A folder of hourly append blobs is read on as it grows: each record once, nothing in silence."""

import asyncio
import random
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from audit.access.model.batch import MOST_BATCH, RecordBatch
from audit.access.sources.files import BlobFolder
from audit.access.sources.hourly_blobs import HourlyBlobs, HourlySettings
from core.base.errors import SourceError
from tests.unit.audit.access.sources.hourly_blobs import FIRST, LONG_AFTER, Seen, hour_name, record

NOW = FIRST.timestamp() + 1800


@pytest.fixture
def seen(tmp_path: Path) -> Seen:
    """An empty folder, while its first hour lasts."""
    return Seen(tmp_path, now=NOW)


async def test_a_blob_that_grows_is_read_on_where_it_was_left(seen: Seen) -> None:
    """Every process that takes it up gives what came since, and nothing twice."""
    name = hour_name(0)
    seen.put(name, record(1) + record(2))
    assert await seen.read() == ([record(1), record(2)], [], [])
    assert await seen.read() == ([], [], [])
    seen.put(name, record(3))
    assert await seen.read() == ([record(3)], [], [])


async def test_however_a_blob_is_cut_while_it_is_written_each_record_comes_once(seen: Seen) -> None:
    """A half-written line waits for its end."""
    drawn = random.Random(5)  # noqa: S311
    content = b"".join(record(number, pad=drawn.randint(0, 200)) for number in range(200))
    found: list[bytes] = []
    while content:
        cut = drawn.randint(1, 900)
        seen.put(hour_name(0), content[:cut])
        content = content[cut:]
        records, problems, gaps = await seen.read()
        assert (problems, gaps) == ([], [])
        found += records
    assert [line.split(b'"n":')[1].split(b",")[0] for line in found] == [
        str(number).encode() for number in range(200)
    ]


async def test_a_last_record_without_a_line_end_is_taken_once_it_is_whole(seen: Seen) -> None:
    """It may never get one."""
    seen.put(hour_name(0), record(1) + record(2)[:-1])
    assert await seen.read() == ([record(1), record(2)], [], [])
    seen.put(hour_name(0), b"\n" + record(3))
    assert await seen.read() == ([record(3)], [], [])


async def test_an_end_that_never_came_is_refused_two_days_later(seen: Seen) -> None:
    """Nothing waits for ever in silence."""
    seen.put(hour_name(0), record(1) + record(2)[:-9])
    assert await seen.read() == ([record(1)], [], [])
    seen.now = LONG_AFTER
    assert await seen.read() == ([], ["ends in the middle of a record"], [])
    assert await seen.read() == ([], [], [])


async def test_new_and_late_hours_are_found(seen: Seen) -> None:
    """An hour's blob may come after that of a later hour."""
    seen.put(hour_name(2), record(1, 2))
    assert await seen.read() == ([record(1, 2)], [], [])
    seen.put(hour_name(0), record(1, 0))
    seen.put(hour_name(30), record(1, 30))
    assert await seen.read() == ([record(1, 0), record(1, 30)], [], [])


async def test_blobs_of_one_hour_come_in_the_order_of_their_times(seen: Seen) -> None:
    """Side by side, not one after the other."""
    for at, container in enumerate(("insights-logs-storageread", "insights-logs-storagewrite")):
        content = b"".join(record(2 * n + at, pad=4000) for n in range(2500))
        seen.put(hour_name(0, container), content)
    stretches = await seen.stretches()
    firsts = [stretch.records[0].raw for stretch in stretches]
    assert len(stretches) > 4
    assert firsts == sorted(firsts)
    assert sum(len(stretch.records) for stretch in stretches) == 5000
    assert max(sum(len(r.raw) for r in s.records) for s in stretches) <= MOST_BATCH


@pytest.mark.parametrize("later", [b"", record(9), record(7) + record(8) + record(9)])
async def test_a_blob_that_shrank_or_was_replaced_is_loud_and_read_anew(
    seen: Seen, later: bytes
) -> None:
    """What it had and was not read may be lost: the hour is a gap."""
    seen.put(hour_name(0), record(1) + record(2))
    await seen.read()
    seen.put(hour_name(0), later, mode="wb")
    records, problems, (gap,) = await seen.read()
    assert (b"".join(records), problems) == (later, [])
    assert (gap.log, gap.subject) == ("storage", "weightsprod storageread")
    assert (gap.begin, gap.end) == ("2026-05-01T09:00:00.000Z", "2026-05-01T10:00:00.000Z")
    assert "shrank" in gap.why or "replaced" in gap.why
    assert (await seen.read())[2] == []


async def test_a_blob_removed_while_it_could_grow_is_a_gap(seen: Seen) -> None:
    """Removing an old one is retention; removing a young one hides something."""
    path = seen.put(hour_name(0), record(1))
    await seen.read()
    path.unlink()
    (gap,) = (await seen.read())[2]
    assert "removed" in gap.why
    assert (await seen.read())[2] == []


async def test_old_blobs_go_by_retention(seen: Seen) -> None:
    """Long after its hour a blob may go, and nobody is told."""
    path = seen.put(hour_name(0), record(1))
    await seen.read()
    path.unlink()
    seen.now = LONG_AFTER
    assert await seen.read() == ([], [], [])


async def test_lines_that_are_too_long_are_refused_and_the_rest_is_read(seen: Seen) -> None:
    """Over 1 MiB a line is no record, over 4 MiB it is not even held."""
    long, longer = record(2, pad=2 << 20), record(3, pad=9 << 20)
    seen.put(hour_name(0), record(1) + long + longer + record(4))
    seen.now = LONG_AFTER
    records, problems, gaps = await seen.read()
    assert (records[0], records[-1], gaps) == (record(1), record(4), [])
    assert len([problem for problem in problems if "longer than" in problem]) >= 3
    assert len(records) <= 3


async def test_every_place_names_the_blob_and_the_byte(seen: Seen) -> None:
    """So that a reviewer finds what was refused."""
    seen.put(hour_name(0), record(1) + b"nonsense\r\n\r\n" + record(2))
    (stretch,) = await seen.stretches()
    assert [one.place for one in stretch.records] == [
        f"{hour_name(0)}@0",
        f"{hour_name(0)}@{len(record(1))}",
        f"{hour_name(0)}@{len(record(1)) + 12}",
    ]


async def test_what_is_no_hours_blob_and_what_links_elsewhere_is_left(
    seen: Seen, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A link must not have the auditor read what it was not given."""
    seen.put("README.txt", b"x")
    outside = tmp_path_factory.mktemp("outside") / "PT1H.json"
    outside.write_bytes(record(1))
    link = seen.folder / hour_name(0)
    link.parent.mkdir(parents=True)
    link.symlink_to(outside)
    assert await seen.read() == ([], [], [])


async def test_a_folder_that_is_not_there_is_said(tmp_path: Path) -> None:
    """An empty source and a missing one are told apart."""
    with pytest.raises(SourceError, match="is no folder"):
        await Seen(tmp_path / "none").read()


async def test_the_first_blob_of_all_is_found_at_once(seen: Seen) -> None:
    """Where a log has just been switched on, nothing says yet which folders there will be."""
    looked = asyncio.Event()
    folder = BlobFolder(seen.folder)

    class Watched:
        async def names(self, prefix: str) -> AsyncIterator[tuple[str, int]]:
            looked.set()
            async for each in folder.names(prefix):
                yield each

        async def read(self, name: str, begin: int, length: int) -> bytes:
            return await folder.read(name, begin, length)

    source = HourlyBlobs("logs", "aks-1", Watched(), HourlySettings(poll_s=0.01), lambda: NOW)

    async def first() -> RecordBatch:
        return await anext(aiter(source.stretches({})))

    reading = asyncio.create_task(first())
    try:
        async with asyncio.timeout(20):
            await looked.wait()
            seen.put(hour_name(0), record(1))
            found = await reading
    finally:
        reading.cancel()
    assert [each.raw + b"\n" for each in found.records] == [record(1)]
