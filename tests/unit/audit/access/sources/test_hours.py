"""Places are written and read, and gaps are claimed where there is evidence of one."""

from pathlib import Path

import pytest

from audit.access.sources.blob_hours import (
    ReadMark,
    find_missing_hours,
    hour_blob,
    read_marks,
    subject_of,
    write_marks,
)
from tests.unit.audit.access.sources.hourly_blobs import FIRST, Seen, hour_name, record


def test_places_of_a_day_are_read_as_they_were_written() -> None:
    """Bytes, records of a list, and sizes of archives."""
    marks = {
        "09/00": ReadMark(12, "ab12cd34"),
        "10/00": ReadMark(3, "00000000", listed=True, size=99),
    }
    assert write_marks(marks) == "09/00=b12~ab12cd34 10/00=r3~00000000/99"
    assert read_marks(write_marks(marks)) == marks
    assert read_marks("") == read_marks("nonsense") == {}


def test_an_hours_blob_is_known_by_its_name() -> None:
    """In a container of its own as well as below others; another name is none."""
    name = hour_name(3)
    blob = hour_blob(name, 7)
    assert blob is not None
    assert (blob.slot, blob.begin_s, blob.size) == ("12/00", int(FIRST.timestamp()) + 3 * 3600, 7)
    assert subject_of(blob.folder) == "weightsprod storageread"
    own = hour_blob(name.partition("/")[2], 7)
    assert own is not None
    assert own.key.startswith("resourceId=")
    assert hour_blob("y=2026/m=13/d=40/h=99/m=00/PT1H.json", 1) is None
    assert hour_blob("a/b.json", 1) is None


USUAL = set(range(100, 130))


@pytest.mark.parametrize(
    ("present", "newest", "judged", "until", "expected"),
    [
        (USUAL | {133}, 133, 0, 200, [range(130, 133)]),
        (USUAL | {133}, 133, 133, 200, []),
        (USUAL | {133}, 133, 131, 200, [range(131, 133)]),
        (USUAL | {133, 136}, 136, 0, 200, [range(130, 133), range(134, 136)]),
        (USUAL | {133}, 133, 0, 131, [range(130, 131)]),
        (USUAL, 129, 0, 200, []),
        (USUAL, 131, 0, 200, []),
        (USUAL, 132, 0, 200, [range(130, 132)]),
        (set(range(100, 130, 2)) | {133}, 133, 0, 200, []),
        (set(range(100, 110)) | {113}, 113, 0, 200, []),
        (set(), 9, 0, 200, []),
    ],
)
def test_a_gap_is_claimed_only_where_each_hour_has_had_records(
    present: set[int], newest: int, judged: int, until: int, expected: list[range]
) -> None:
    """Of 24 hours before 22 must have a blob, one must come after, and it must be late enough."""
    assert find_missing_hours(present, newest, judged, until) == expected


async def test_a_missing_hour_is_a_gap_and_is_said_once(tmp_path: Path) -> None:
    """Also after a restart; that it may only be late is waited for."""
    seen = Seen(tmp_path, now=FIRST.timestamp() + 31 * 3600)
    for hour in (*range(28), 30):
        seen.put(hour_name(hour), record(1, hour))
    assert (await seen.read())[2] == []
    seen.now += 6 * 3600
    (gap,) = (await seen.read())[2]
    assert (gap.begin, gap.end) == ("2026-05-02T13:00:00.000Z", "2026-05-02T15:00:00.000Z")
    assert (gap.log, gap.subject) == ("storage", "weightsprod storageread")
    assert (await seen.read())[2] == []


async def test_a_category_that_falls_silent_while_others_go_on_is_a_gap(tmp_path: Path) -> None:
    """As it is where one diagnostic setting was deleted."""
    seen = Seen(tmp_path, now=FIRST.timestamp() + 90 * 3600)
    for hour in range(40):
        seen.put(hour_name(hour, "insights-logs-storagewrite"), record(1, hour))
        if hour < 30:
            seen.put(hour_name(hour), record(1, hour))
    (gap,) = (await seen.read())[2]
    assert (gap.subject, gap.begin) == ("weightsprod storageread", "2026-05-02T15:00:00.000Z")
