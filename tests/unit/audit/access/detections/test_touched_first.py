"""Whoever touches blobs before he reads them is seen all the same."""

from collections.abc import Callable, Iterable
from typing import Any, Final

import pytest

from audit.access.model.detection import Event
from core.weights.documents.access import Act
from tests.unit.audit.access.detections.events import SHARD, access, at, shown, write


def story(written: int, status: int) -> list[Event]:
    """Tell of a whole checkpoint, in parts over twenty days; of each shard something is written."""
    told: list[Event] = []
    for day in range(20):
        for shard in range(6):
            blob = f"step-1/shard-{day * 6 + shard}"
            if written:
                told.append(write(at(day, 1) + shard, blob, written, operation="PutBlock"))
            told.append(access(at(day, 2) + shard, blob=blob, status=status))
    return told


@pytest.mark.parametrize("status", [200, 206])
def test_a_byte_written_makes_a_shard_nobodys_own(status: int) -> None:
    """A block that is put and never committed changes nothing of the blob."""
    severities = [one.severity for one in shown(story(0, status), "slow-exfiltration")]
    assert len(severities) == 1
    found = shown(story(1, status), "slow-exfiltration")
    assert [one.severity for one in found] == severities


@pytest.mark.parametrize("status", [200, 206])
def test_what_somebody_wrote_is_his(status: int) -> None:
    """Who put the whole shard there had it before."""
    assert not shown(story(SHARD, status), "slow-exfiltration")


PARTS = 16
BOB = "0b000000-0000-4000-8000-00000000000b"


def piecewise(before: Callable[[int, str], Iterable[Event]]) -> list[Event]:
    """Tell of a checkpoint that is read in ranges no larger than what was done to it `before`."""
    told: list[Event] = []
    for day in range(20):
        for shard in range(6):
            blob = f"step-1/shard-{day * 6 + shard}"
            told += before(day, blob)
            for part in range(PARTS):
                when = at(day, 2) + shard * 60 + part
                told.append(access(when, blob=blob, status=206, bytes_out=SHARD // PARTS))
    return told


def block(day: int, blob: str, size: int = SHARD // PARTS, **over: Any) -> Event:
    """Tell of a block that is put."""
    return write(at(day, 1), blob, size, **{"operation": "PutBlock", **over})


def copied(day: int, blob: str) -> Event:
    """Tell of a copy into a blob."""
    over = {"operation": "CopyBlob", "act": Act.COPY, "bytes_out": 0}
    return access(at(day, 1.5), blob=blob, **over)


def stranger(day: int, blob: str) -> Event:
    """Tell of somebody who reads some of it before."""
    return access(at(day, 0.5), blob=blob, status=206, bytes_out=1, principal=BOB)


WHOLE: Final = {"operation": "PutBlob"}
STORIES: Final[dict[str, tuple[Callable[[int, str], Iterable[Event]], bool]]] = {
    "nothing": (lambda _d, _b: (), True),
    "a block of each, never seen": (lambda d, b: [block(d, b)], True),
    "a block of each, that another wrote": (
        lambda d, b: [write(at(d, 0.5), b, principal=BOB), block(d, b)],
        True,
    ),
    "many blocks of each, that another read": (
        lambda d, b: [stranger(d, b), block(d, b, SHARD // 2)],
        True,
    ),
    "a copy onto what was put there": (
        lambda d, b: [block(d, b, SHARD, **WHOLE), copied(d, b)],
        True,
    ),
    "tags": (lambda d, b: [block(d, b, SHARD, operation="SetBlobTags")], True),
    "all of it, in blocks": (lambda d, b: [block(d, b, SHARD)], False),
    "all of it, at once": (lambda d, b: [block(d, b, SHARD, **WHOLE)], False),
    "all of it, anew": (lambda d, b: [stranger(d, b), block(d, b, SHARD, **WHOLE)], False),
    "all of it, and tags by another": (
        lambda d, b: [
            block(d, b, SHARD),
            block(d, b, 9, operation="SetBlobTags", principal=BOB),
        ],
        False,
    ),
}


@pytest.mark.parametrize("before", STORIES)
def test_ranges_are_his_only_of_what_he_put_there_whole(before: str) -> None:
    """Bytes of others stay others', whatever is written beside them; one's own stay one's own."""
    told, found = STORIES[before]
    assert bool(shown(piecewise(told), "slow-exfiltration")) is found


def test_a_trainer_reads_its_checkpoint_back_many_times() -> None:
    """What was put there at once without end; what came in blocks, some times."""
    for operation, times in (("PutBlob", 30), ("PutBlock", 7)):
        told: list[Event] = []
        for day in range(20):
            for shard in range(6):
                blob = f"step-1/shard-{day * 6 + shard}"
                told.append(block(day, blob, SHARD, operation=operation))
                reads = (at(day, 2) + shard * 60 + each for each in range(times))
                told += [access(when, blob=blob, status=206) for when in reads]
        assert not shown(told, "slow-exfiltration"), operation
