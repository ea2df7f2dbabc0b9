"""Ways to tamper with an export, by someone who holds the signing key and cannot write the anchor.

Each says what must be found, and at which position. `Scene.write` computes digests, leaves, heads
and counts again over whatever the records are then, so every change of records is a whole one:
payload, digest, leaf, frontier and signatures agree with each other.
"""

import dataclasses
import gzip
import json
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from audit.ledger.log.heads import sign_head
from audit.ledger.log.merkle import Frontier, grow
from audit.ledger.log.problems import Flaw
from audit.ledger.log.retention import Prefix
from audit.ledger.records.frames import FrameKind
from core.base.ids import stable_id
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
from tests.unit.audit.ledger.store.documents import NOW_MS

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


LATE: Final = decision(NOW_MS - 9 * DAY_MS, 9000)
NAME: Final = "caf\u00e9"
NEW_ID: Final = stable_id(time_at(AT), "decision", "another")

CONTENTS: Final = [
    Tampering(
        "a verdict changed", payload(AT, b'"allowed":true', b'"allowed":false'), Flaw.CHANGED, AT
    ),
    Tampering(
        "first record changed", replaced(0, decision(time_at(0), 0, reason="x")), Flaw.CHANGED, 0
    ),
    Tampering(
        "last anchored record changed",
        replaced(ANCHORED - 1, decision(time_at(ANCHORED - 1), 499, reason="x")),
        Flaw.CHANGED,
        ANCHORED - 1,
    ),
    Tampering(
        "white space in a document", payload(AT, b'"format":1', b'"format": 1'), Flaw.CHANGED, AT
    ),
    Tampering(
        "a key twice in a document",
        payload(AT, b'"allowed":true', b'"allowed":true,"allowed":false'),
        Flaw.CHANGED,
        AT,
    ),
    Tampering(
        "a text in another Unicode form",
        payload(
            AT, b'"requester":"', f'"requester":"{unicodedata.normalize("NFD", NAME)}'.encode()
        ),
        Flaw.CHANGED,
        AT,
    ),
    Tampering(
        "id changed, in leaf and document",
        replaced(AT, decision(time_at(AT), 9009)),
        Flaw.CHANGED,
        AT,
    ),
    Tampering("id changed in the leaf alone", changed(AT, id=NEW_ID), Flaw.CHANGED, AT),
    Tampering(
        "moved to another cluster",
        replaced(AT, decision(time_at(AT), AT, cluster="other")),
        Flaw.CHANGED,
        AT,
    ),
    Tampering("kind changed", changed(AT, kind=FrameKind.ACCESS), Flaw.CHANGED, AT),
    Tampering("hidden as unreadable", changed(AT, payload=b"{", aside=True), Flaw.CHANGED, AT),
    Tampering(
        "made old, all heads after it too", whole(shifted(AT, -3600_000)), Flaw.REWRITTEN, AT
    ),
]

ORDER: Final = [
    Tampering("first removed", removed(0), Flaw.REMOVED, 0),
    Tampering("one removed from the middle", removed(AT), Flaw.REMOVED, AT),
    Tampering("forty removed from the middle", removed(AT, 40), Flaw.REMOVED, AT),
    Tampering("last anchored removed", removed(ANCHORED - 1), Flaw.CHANGED, ANCHORED - 1),
    Tampering("end removed, heads too", whole(truncated), Flaw.TRUNCATED, 430),
    Tampering("heads deleted, end removed", whole(without_heads), Flaw.TRUNCATED, ANCHORED - 5),
    Tampering("rolled back to an old head", whole(rolled_back), Flaw.TRUNCATED, 200),
    Tampering("two neighbours swapped", whole(swapped), Flaw.MOVED, AT),
    Tampering("two far apart swapped", whole(far_swapped), Flaw.CHANGED, AT),
    Tampering("one put in", inserted(AT, decision(time_at(AT) + 1, 9001)), Flaw.INSERTED, AT),
    Tampering("one put in twice", inserted(AT + 1, Scene().records[AT]), Flaw.INSERTED, AT + 1),
    Tampering("one appended twice", appended(Scene().records[590]), Flaw.DUPLICATE, RECORDS),
    Tampering("an old one appended", appended(LATE), Flaw.BACK_DATED, RECORDS),
    Tampering("all written anew", whole(regenerated), Flaw.REWRITTEN, 0),
    Tampering("all written anew as another log", whole(regenerated_log), Flaw.KEY, None),
    Tampering(
        "a line left out, the rest as it was",
        lines(lambda made: made[: line_of(AT)] + made[line_of(AT) + 1 :]),
        Flaw.REMOVED,
        AT,
    ),
]

SIGNED: Final = [
    Tampering("key replaced, all heads signed anew", whole(other_key), Flaw.KEY, None),
    Tampering("a second head of one size", lines(forked), Flaw.FORK, RECORDS),
    Tampering(
        "a signature changed",
        lines(flipped),
        Flaw.HEAD,
        OLD,
    ),
    Tampering(
        "a head made older",
        whole(lambda scene: scene.times.update({550: time_at(300)})),
        Flaw.HEAD,
        550,
    ),
]

REMOVALS: Final = [
    Tampering("documents removed without a record", whole(gone(400, 50)), Flaw.REMOVAL, 400),
    Tampering("removed by a record that keeps a day", forged_retention(1), Flaw.RETENTION, RECORDS),
    Tampering(
        "removed by a record that says another day than it keeps",
        forged_retention(90, "2026-11-22"),
        Flaw.RETENTION,
        RECORDS,
    ),
    Tampering("removed by a record of the future", whole(ahead_retention), Flaw.AHEAD, RECORDS),
    Tampering(
        "removed by a record of the future, as is its head",
        whole(future_retention),
        Flaw.HEAD,
        RECORDS,
    ),
    Tampering(
        "the record of an honest removal changed",
        replaced(RETENTION_AT, retention(time_at(RETENTION_AT), 80)),
        Flaw.CHANGED,
        RETENTION_AT,
    ),
    Tampering(
        "a prefix removed with a wrong frontier",
        whole(lambda scene: take_prefix(scene, honest=False)),
        Flaw.DIFFERS,
        0,
    ),
    Tampering(
        "a young prefix removed by a record",
        whole(lambda scene: take_prefix(scene, collapsed=450)),
        Flaw.REMOVAL,
        0,
    ),
    Tampering(
        "a young prefix removed by a record with a head made old",
        whole(lambda scene: take_prefix(scene, collapsed=450, at_ms=time_at(0))),
        Flaw.REMOVAL,
        0,
    ),
    Tampering(
        "a prefix removed without a record",
        whole(prefix_without_record),
        Flaw.REMOVAL,
        0,
    ),
]

FILES: Final = [
    Tampering("white space in a line", lines(spaced), Flaw.FILE, None),
    Tampering("a key twice in a line", lines(doubled_key), Flaw.FILE, None),
    Tampering("a bit of the gzip flipped", zipped, Flaw.FILE, None),
    Tampering("last line missing", lines(lambda made: made[:-1]), Flaw.FILE, None),
    Tampering(
        "the first line counts fewer",
        whole(lambda scene: scene.opening.update(size=590)),
        Flaw.RANGE,
        RECORDS,
    ),
    Tampering(
        "the first line says that less was asked for",
        whole(short_claim),
        Flaw.RANGE,
        None,
    ),
    Tampering(
        "lines of another export after it", lines(lambda made: made + made), Flaw.FILE, RECORDS
    ),
]

ALL: Final = [*CONTENTS, *ORDER, *SIGNED, *REMOVALS, *FILES]
