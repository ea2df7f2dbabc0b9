"""Ways to tamper with an export, by someone who holds the signing key and cannot write the anchor.

Each says what must be found, and at which position. `Scene.write` computes digests, leaves, heads
and counts again over whatever the records are then, so every change of records is a whole one:
payload, digest, leaf, frontier and signatures agree with each other.
"""

import dataclasses
import gzip
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from audit.ledger.log.heads import sign_head
from audit.ledger.log.merkle import Frontier, grow
from audit.ledger.log.problems import Flaw
from audit.ledger.log.retention import Prefix
from tests.unit.audit.ledger.log_verify.honest_log import (
    ANCHORED,
    DAY_MS,
    OLD,
    OTHER_KEY,
    RECORDS,
    RETENTION_AT,
    Record,
    Scene,
    decision,
    retention,
    time_at,
)

AT: Final = 123

Write = Callable[[Path], Path]


@dataclass(frozen=True)
class Tampering:
    """A way to tamper, and what must be said of it."""

    name: str
    write: Write
    wrong: Flaw
    at: int | None
    """Position of the first bad record, or where the stretch begins; None: of no record."""


def whole(change: Callable[[Scene], None]) -> Write:
    """Write the export of a scene that was changed; all that hangs on it is computed again."""

    def write(path: Path) -> Path:
        scene = Scene()
        change(scene)
        return scene.write(path)

    return write


def lines(change: Callable[[list[bytes]], list[bytes]]) -> Write:
    """Write an honest export whose lines were changed, and nothing else."""

    def write(path: Path) -> Path:
        path.write_bytes(b"".join(change(Scene().lines())))
        return path

    return write


def replaced(at: int, new: Record) -> Write:
    """Put another record in the place of one."""

    def change(scene: Scene) -> None:
        scene.records[at] = new

    return whole(change)


def changed(at: int, **fields: object) -> Write:
    """Change fields of a record."""
    return replaced(at, dataclasses.replace(Scene().records[at], **fields))  # type: ignore[arg-type]


def payload(at: int, old: bytes, new: bytes) -> Write:
    """Change bytes of a payload."""
    before = Scene().records[at].payload
    assert old in before
    return changed(at, payload=before.replace(old, new, 1))


def swapped(scene: Scene) -> None:
    """Swap two neighbours."""
    records = scene.records
    records[AT], records[AT + 1] = records[AT + 1], records[AT]


def far_swapped(scene: Scene) -> None:
    """Swap two records that lie far apart."""
    records = scene.records
    records[AT], records[AT + 300] = records[AT + 300], records[AT]


def removed(first: int, count: int = 1) -> Write:
    """Take records out."""

    def change(scene: Scene) -> None:
        del scene.records[first : first + count]

    return whole(change)


def inserted(at: int, record: Record) -> Write:
    """Put a record in."""
    return whole(lambda scene: scene.records.insert(at, record))


def appended(record: Record) -> Write:
    """Put a record at the end."""
    return whole(lambda scene: scene.records.append(record))


def truncated(scene: Scene) -> None:
    """Take the end away."""
    del scene.records[430:]


def regenerated(scene: Scene) -> None:
    """Make all records anew."""
    scene.records = [decision(time_at(at), at, reason="never") for at in range(RECORDS)]


def regenerated_log(scene: Scene) -> None:
    """Make all records anew, as those of another log."""
    regenerated(scene)
    scene.log = "fedcba9876543210" * 2


def other_key(scene: Scene) -> None:
    """Sign with another key."""
    scene.key = OTHER_KEY


def gone(first: int, count: int) -> Callable[[Scene], None]:
    """Take documents away, and leave their leaves."""

    def change(scene: Scene) -> None:
        for at in range(first, first + count):
            scene.records[at] = dataclasses.replace(scene.records[at], is_gone=True)

    return change


def forged_retention(keep_days: int, kept: str = "") -> Write:
    """Remove documents of today, and append a record of tomorrow that says so."""

    def change(scene: Scene) -> None:
        gone(400, 50)(scene)
        scene.records.append(retention(time_at(RECORDS) + DAY_MS // 2, keep_days, kept))

    return whole(change)


def future_retention(scene: Scene) -> None:
    """Let all be removed by a record of 100 days ahead, and sign the last head as of then."""
    by = 100 * DAY_MS
    scene.times[RECORDS] = time_at(RECORDS - 1) + by + 500
    scene.records[-1] = retention(time_at(RECORDS - 1) + by, 90)
    for at in range(OLD, RECORDS - 1):
        if at != RETENTION_AT:
            scene.records[at] = dataclasses.replace(scene.records[at], is_gone=True)


def ahead_retention(scene: Scene) -> None:
    """Remove today's documents by a record that is of 100 days later."""
    gone(400, 50)(scene)
    scene.records.append(retention(time_at(RECORDS) + 100 * DAY_MS, 90))
    scene.sizes.append(RECORDS + 1)
    scene.times[RECORDS + 1] = time_at(RECORDS)


def take_prefix(
    scene: Scene, *, honest: bool = True, collapsed: int = OLD, at_ms: int | None = None
) -> None:
    """Take the first leaves away, as retention does with a prefix."""
    leaves = [each.hash for each in scene.records[:collapsed]]
    head = scene.heads()[collapsed]
    if at_ms is not None:
        head = sign_head(scene.log, collapsed, bytes.fromhex(head.root), at_ms, scene.key)
    scene.frontier, _ = grow(Frontier(), leaves if honest else leaves[::-1])
    scene.first = collapsed
    scene.sizes = [size for size in scene.sizes if size > collapsed]
    hashes = [each.hex() for each in scene.frontier.hashes]
    prefix = Prefix(size=collapsed, frontier=hashes, head=head)
    scene.records.append(retention(time_at(RECORDS), 90, prefix=prefix))


def forked(made: list[bytes]) -> list[bytes]:
    """Put a second head of one size in, signed with the key over another log."""
    other = Scene()
    other.records[AT] = decision(time_at(AT), AT, reason="never")
    at = next(number for number, line in enumerate(made) if b'"size":600,"root"' in line)
    last = json.loads(made[-1])
    last["heads"] += 1
    fork = next(line for line in other.lines() if b'"size":600,"root"' in line)
    end = json.dumps(last, separators=(",", ":")).encode() + b"\n"
    return [*made[: at + 1], fork, *made[at + 1 : -1], end]


def without_heads(scene: Scene) -> None:
    """Take all heads and the end away."""
    scene.sizes = []
    del scene.records[ANCHORED - 5 :]


def rolled_back(scene: Scene) -> None:
    """Leave what an old head is of."""
    scene.sizes = [size for size in scene.sizes if size <= 200]
    del scene.records[200:]


def spaced(made: list[bytes]) -> list[bytes]:
    """Put white space into a line."""
    return [*made[:200], made[200].replace(b'"at":', b'"at": '), *made[201:]]


def doubled_key(made: list[bytes]) -> list[bytes]:
    """Say the payload of a line twice."""
    line = made[200].replace(b'"payload":', b'"payload":"{}","payload":', 1)
    return [*made[:200], line, *made[201:]]


def flipped(made: list[bytes]) -> list[bytes]:
    """Change the last digit of each signature."""
    return [
        line[:-5] + (b"1" if line[-5:-4] == b"0" else b"0") + line[-4:]
        if b'"signature":"' in line
        else line
        for line in made
    ]


def zipped(path: Path) -> Path:
    """Flip a bit of what gzip made."""
    packed = bytearray(gzip.compress(b"".join(Scene().lines()), mtime=0))
    packed[len(packed) // 2] ^= 4
    path.write_bytes(packed)
    return path


def shifted(first: int, by: int) -> Callable[[Scene], None]:
    """Say that records were made and stored at another time, heads included."""

    def change(scene: Scene) -> None:
        for at in range(first, RECORDS):
            scene.records[at] = decision(time_at(at) + by, at)
        for size in scene.sizes:
            if size > first:
                scene.times[size] = time_at(size - 1) + by + 500

    return change


def line_of(at: int) -> int:
    """Return the number of the line of a record, from 0, in an honest export."""
    found = [f'"at":{at},'.encode() in line for line in Scene().lines()]
    return found.index(True)


def short_claim(scene: Scene) -> None:
    """Say that less was asked for than was, and leave no more than that."""
    scene.opening["until"] = "2026-11-21T12:05:00Z"
    rolled_back(scene)


def prefix_without_record(scene: Scene) -> None:
    """Take the first leaves away without saying so."""
    take_prefix(scene)
    scene.records.pop()
