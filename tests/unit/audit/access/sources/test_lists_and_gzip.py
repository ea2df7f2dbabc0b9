"""Older exports are one JSON list, archives are under gzip: both are read whole, once."""

import gzip
import json
from pathlib import Path

import pytest

from tests.unit.audit.access.sources.hourly_blobs import FIRST, LONG_AFTER, Seen, hour_name, record

RECORDS = [record(number) for number in range(5)]


def listed(*lines: bytes, wrap: bool = False, indent: int | None = None) -> bytes:
    """Return lines as one JSON document."""
    values = [json.loads(line) for line in lines]
    return json.dumps({"records": values} if wrap else values, indent=indent).encode()


def numbers(lines: list[bytes]) -> list[int]:
    """Return which records they are."""
    return [json.loads(line)["n"] for line in lines]


@pytest.fixture
def seen(tmp_path: Path) -> Seen:
    """An empty folder, long after its hours."""
    return Seen(tmp_path)


@pytest.mark.parametrize("wrap", [True, False])
@pytest.mark.parametrize("indent", [None, 2])
async def test_a_list_is_read_once_and_on_where_it_has_grown(
    seen: Seen, *, wrap: bool, indent: int | None
) -> None:
    """The blob is written anew with each record; those that were read are passed over."""
    seen.put(hour_name(0), listed(*RECORDS[:3], wrap=wrap, indent=indent), mode="wb")
    assert numbers((await seen.read())[0]) == [0, 1, 2]
    assert await seen.read() == ([], [], [])
    seen.put(hour_name(0), listed(*RECORDS, wrap=wrap, indent=indent), mode="wb")
    records, problems, gaps = await seen.read()
    assert (numbers(records), problems, gaps) == ([3, 4], [], [])
    seen.put(hour_name(0), listed(*RECORDS[3:], wrap=wrap, indent=indent), mode="wb")
    records, problems, gaps = await seen.read()
    assert (numbers(records), len(gaps)) == ([3, 4], 1)


async def test_a_list_that_is_being_written_is_waited_for(seen: Seen) -> None:
    """Half of one is no list; two days later it is refused."""
    seen.now = FIRST.timestamp() + 60
    seen.put(hour_name(0), listed(*RECORDS)[:-5])
    assert await seen.read() == ([], [], [])
    seen.now = LONG_AFTER
    _, problems, _ = await seen.read()
    assert len(problems) == 1
    assert (await seen.read())[1] == []


async def test_lines_that_wrap_records_are_no_list(seen: Seen) -> None:
    """As Event Hubs' capture writes them."""
    seen.put(hour_name(0), listed(*RECORDS[:2], wrap=True) + b"\n" + listed(RECORDS[2]) + b"\n")
    assert numbers((await seen.read())[0]) == [0, 1, 2]


async def test_an_archive_is_unpacked_once(seen: Seen) -> None:
    """Also of several members, and of more than is held at once."""
    lines = [record(number, pad=100_000) for number in range(120)]
    content = gzip.compress(b"".join(lines[:70])) + gzip.compress(b"".join(lines[70:]))
    seen.put(hour_name(0) + ".gz", content)
    assert (await seen.read())[0] == lines
    assert await seen.read() == ([], [], [])


async def test_reading_an_archive_goes_on_in_its_middle(seen: Seen) -> None:
    """A process that is killed between two stretches loses and repeats nothing."""
    lines = [record(number, pad=100_000) for number in range(120)]
    seen.put(hour_name(0) + ".gz", gzip.compress(b"".join(lines)))
    first, second, *_ = await seen.stretches()
    seen.places[first.name] = second.end
    rest = (await seen.read())[0]
    done = len(first.records) + len(second.records)
    assert rest == lines[done:]


@pytest.mark.parametrize(
    "content", [b"no gzip", gzip.compress(b"x" * 999, mtime=0)[:30] + b"????????"]
)
async def test_a_damaged_archive_is_refused(seen: Seen, content: bytes) -> None:
    """With its place, once for each process that looks at it."""
    seen.put(hour_name(0) + ".gz", content)
    (_, problems, _) = await seen.read()
    assert problems == ["is no gzip, or is damaged from there on"]


async def test_a_byte_order_mark_is_no_part_of_a_record(seen: Seen) -> None:
    """Some tools write one."""
    seen.put(hour_name(0), b"\xef\xbb\xbf" + record(1))
    assert (await seen.read())[0] == [record(1)]
