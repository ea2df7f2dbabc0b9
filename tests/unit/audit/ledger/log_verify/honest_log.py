"""A log of a few hundred records with heads and an anchor, which a tamperer may write anew.

It is written by nothing but `audit.ledger.log`, so that whoever has the signing key could, too.
"""

import asyncio
import base64
import dataclasses
import datetime as dt
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from audit.ledger.log.anchor_check import AnchorReading
from audit.ledger.log.anchor_file import FileAnchor
from audit.ledger.log.export import (
    FORMAT,
    EndLine,
    ExportLine,
    HeadLine,
    encode_line,
    leaf_line,
)
from audit.ledger.log.heads import TreeHead, sign_head
from audit.ledger.log.leaves import leaf_of, mark_of, payload_digest
from audit.ledger.log.merkle import Frontier, grow
from audit.ledger.log.problems import RecordPlace
from audit.ledger.log.retention import Prefix, Retention, encode_retention, first_kept
from audit.ledger.log.verdict import Verdict, verdict_of
from audit.ledger.log.verifier import VerificationTerms, VerifierTrust, verify_export
from audit.ledger.records.frames import FrameKind
from core.base.ids import stable_id
from core.decision.document import encode_document
from tests.unit.audit.ledger.store.documents import CLUSTER, NOW_MS, document

DAY_MS: Final = 86_400_000
OLD: Final = 20
"""Records of 100 days ago, whose documents retention removed."""
RETENTION_AT: Final = 300
RECORDS: Final = 600
EVERY: Final = 50
"""Records between two heads."""
ANCHORED: Final = 500
LOG: Final = "0123456789abcdef" * 2
KEY: Final = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
TERMS: Final = VerificationTerms(now_ms=NOW_MS + 10 * DAY_MS)
OTHER_KEY: Final = Ed25519PrivateKey.from_private_bytes(bytes(range(1, 33)))


@dataclass(frozen=True, slots=True)
class Record:
    """What is stored at one position."""

    kind: int
    id: str
    payload: bytes
    cluster: str = CLUSTER
    is_gone: bool = False
    """Whether its document was removed."""
    aside: bool = False

    @property
    def id_bytes(self) -> bytes:
        """The id's bytes."""
        return bytes.fromhex(self.id.replace("-", ""))

    @property
    def hash(self) -> bytes:
        """The leaf's hash."""
        return leaf_of(self.kind, self.cluster, self.id_bytes, self.payload).hash


def decision(at_ms: int, number: int, **changes: Any) -> Record:
    """Return a decision whose id is the same in each run."""
    made = document(id=stable_id(at_ms, "decision", str(number)), **changes)
    return Record(FrameKind.DECISION, made.id, encode_document(made), made.cluster)


def retention(at_ms: int, keep_days: int, kept: str = "", prefix: Prefix | None = None) -> Record:
    """Return a retention record of then; `kept` is its first day, where it is not the right one."""
    day = (dt.datetime.fromtimestamp(at_ms // 1000, dt.UTC)).date()
    made = Retention(
        format=1,
        id=stable_id(at_ms, "retention"),
        time=document(at_ms).time,
        keep_days=keep_days,
        first_kept_day=kept or first_kept(day, keep_days).isoformat(),
        removed={"decision": OLD},
        prefix=prefix,
    )
    return Record(FrameKind.RETENTION, made.id, encode_retention(made), "")


def records() -> list[Record]:
    """Return what is honestly stored: by the millisecond, a head each EVERY of them."""
    return list(_records())


@cache
def _records() -> tuple[Record, ...]:
    made = [
        dataclasses.replace(decision(NOW_MS - 100 * DAY_MS + at, at), is_gone=True)
        for at in range(OLD)
    ]
    made += [decision(time_at(at), at) for at in range(OLD, RECORDS)]
    made[RETENTION_AT] = retention(time_at(RETENTION_AT), 90)
    return tuple(made)


def time_at(at: int) -> int:
    """Return when the record of a position was made and stored."""
    return NOW_MS - 100 * DAY_MS + at if at < OLD else NOW_MS + at * 1000


@dataclass
class Scene:
    """A ledger as whoever has it now would export it."""

    records: list[Record] = field(default_factory=records)
    sizes: list[int] = field(default_factory=lambda: [OLD, *range(EVERY, RECORDS + 1, EVERY)])
    key: Ed25519PrivateKey = KEY
    log: str = LOG
    first: int = 0
    frontier: Frontier = field(default_factory=Frontier)
    opening: dict[str, Any] = field(default_factory=dict)
    """What the first line says otherwise."""
    times: dict[int, int] = field(default_factory=dict)
    """Times of heads, by size, where they are others than that of the record before."""

    def heads(self) -> dict[int, TreeHead]:
        """Sign the heads over the records as they are now."""
        tree, made = self.frontier, {}
        for size in self.sizes:
            if size > len(self.records):
                continue
            tree, _ = grow(tree, [each.hash for each in self.records[tree.size : size]])
            at_ms = self.times.get(size, time_at(size - 1) + 500)
            made[size] = sign_head(self.log, size, tree.root, at_ms, self.key)
        return made

    def lines(self) -> list[bytes]:
        """Return the lines of the export."""
        raw = self.key.public_key().public_bytes_raw()
        opening = ExportLine(
            format=FORMAT,
            log=self.log,
            first=self.first,
            size=len(self.records),
            keys=[base64.b64encode(raw).decode()],
            frontier=[each.hex() for each in self.frontier.hashes],
            made="2026-11-21T13:00:00.000Z",
        )
        made = [encode_line(msgspec.structs.replace(opening, **self.opening))]
        heads = self.heads()
        for at, record in enumerate(self.records[self.first :], self.first):
            digest = payload_digest(record.payload)
            payload = None if record.is_gone else record.payload
            where = RecordPlace(at, record.kind, record.cluster, record.id_bytes)
            made.append(encode_line(leaf_line(where, digest, payload, aside=record.aside)))
            made += [encode_line(HeadLine(head=heads[at + 1]))] if at + 1 in heads else []
        count = len(self.records) - self.first
        return [*made, encode_line(EndLine(leaves=count, heads=len(heads)))]

    def write(self, path: Path) -> Path:
        """Write the export."""
        path.write_bytes(b"".join(self.lines()))
        return path


def anchor(path: Path, scene: Scene | None = None, *, until: int = ANCHORED) -> Path:
    """Publish the heads of a scene to a file, as the auditor did while they came."""
    scene = scene or Scene()
    kept = FileAnchor(path)

    async def publish() -> None:
        for size, head in scene.heads().items():
            if size <= until:
                reached = await kept.reached()
                marks = b"".join(mark_of(each.hash) for each in scene.records[reached:size])
                await kept.publish(head, marks)

    asyncio.run(publish())
    return path


def verify(
    export: Path, anchors: Sequence[Path], terms: VerificationTerms = TERMS, keys: Any = ()
) -> Verdict:
    """Verify an export against anchors."""
    with ExitStack() as stack:
        files = [stack.enter_context(path.open("rb")) for path in anchors]
        readings = [
            AnchorReading(path.name, file) for path, file in zip(anchors, files, strict=True)
        ]
        return verdict_of(
            verify_export(export, VerifierTrust(readings, keys, terms), lambda _, __: None)
        )
