"""A ledger in a database, honestly made, and what someone with its key does to it."""

import datetime as dt
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import sqlalchemy as sa

from audit.ledger.log.anchor_check import AnchorReading
from audit.ledger.log.anchor_file import FileAnchor
from audit.ledger.log.heads import encode_head, sign_head
from audit.ledger.log.leaves import Leaf, mark_of, payload_digest
from audit.ledger.log.merkle import Frontier, grow
from audit.ledger.log.verdict import Verdict, verdict_of
from audit.ledger.log.verifier import VerifierTrust
from audit.ledger.records.frames import Frame, FrameKind
from audit.ledger.store.log_append import TILE_LEVELS
from audit.ledger.store.log_export import make_opening
from audit.ledger.store.store import Store
from audit.ledger.store.tables import BY_KIND, heads, leaves, log, tiles
from audit.ledger.store.verification import VerifiableLedger, verify_ledger
from core.base.ids import stable_id
from core.decision.decision import Verdict as Judged
from tests.unit.audit.ledger.log_verify.honest_log import DAY_MS, KEY, TERMS
from tests.unit.audit.ledger.store.documents import CLUSTER, NOW_MS, document, frame

OLD: Final = 20
BATCHES: Final = 7
EACH: Final = 50
"""Records of a batch; a head after each, all but the last anchored."""
SIZE: Final = OLD + 2 + BATCHES * EACH
"""With a frame that cannot be read, and the retention record."""
ASIDE: Final = OLD
RETENTION: Final = OLD + 1
ANCHORED: Final = SIZE - EACH

_RAW = KEY.public_key().public_bytes_raw()


class Clock:
    """What the auditor's clock shows."""

    now_ms = NOW_MS - 100 * DAY_MS

    def __call__(self) -> float:
        """Return seconds since the epoch."""
        return self.now_ms / 1000


def decision(number: int, at_ms: int, **changes: Any) -> Frame:
    """Return the frame of a decision, the same each time."""
    verdict = Judged.DENY if number % 5 == 0 else Judged.ALLOW
    made = document(at_ms, verdict, id=stable_id(at_ms, "decision", str(number)), **changes)
    return frame(made)


async def build(url: str, anchor: Path) -> None:
    """Make a ledger and its anchor: an old day that retention removed, then batches of today."""
    clock = Clock()
    kept = FileAnchor(anchor)
    async with Store(url, clock, keep_days=90) as store:
        old = [decision(number, clock.now_ms + number) for number in range(OLD)]
        await store.deliver(CLUSTER, old)
        clock.now_ms = NOW_MS
        await store.deliver(CLUSTER, [Frame(FrameKind.DECISION, bytes(16), b"{")])
        await store.retain(90, dt.datetime.fromtimestamp(NOW_MS / 1000, dt.UTC).date())
        for batch in range(BATCHES):
            first = batch * EACH
            frames = [decision(each, NOW_MS + each) for each in range(first, first + EACH)]
            clock.now_ms = NOW_MS + first + EACH
            await store.deliver(CLUSTER, frames)
            await publish(store, kept if batch < BATCHES - 1 else None, clock.now_ms)


async def publish(store: Store, anchor: FileAnchor | None, now_ms: int) -> None:
    """Sign a head, keep it, and anchor it, as the auditor does."""
    state = await store.log_state()
    head = sign_head(state.id, state.tree.size, state.tree.root, now_ms, KEY)
    await store.add_head(head)
    if anchor is not None:
        reached = await anchor.reached()
        hashes = await store.leaf_hashes(reached, head.size)
        await anchor.publish(head, b"".join(map(mark_of, hashes)))


async def verify(url: str, anchor: Path | None) -> Verdict:
    """Verify the ledger where it is; without an anchor by its key alone."""
    ledger = VerifiableLedger(url)
    await ledger.open(make=False)
    try:
        return await verify_open(ledger, anchor)
    finally:
        await ledger.close()


async def verify_open(ledger: VerifiableLedger, anchor: Path | None) -> Verdict:
    """Verify a ledger that is open."""
    with ExitStack() as stack:
        files = [stack.enter_context(anchor.open("rb"))] if anchor else []
        readings = [AnchorReading("anchor", file) for file in files]
        trust = VerifierTrust(readings, [KEY.public_key()], TERMS)
        opening = await make_opening(ledger, [], None, None, NOW_MS)
        return verdict_of(await verify_ledger(ledger, opening, trust, lambda _, __: None))


Tamper = Callable[[sa.Connection], None]


def tamper(url: str, change: Tamper) -> None:
    """Write into the database past the ledger."""
    engine = sa.create_engine(url, hide_parameters=True)
    try:
        with engine.begin() as connection:
            change(connection)
    finally:
        engine.dispose()


def sign_again(connection: sa.Connection) -> None:
    """Compute digests, frontier, tiles and heads again over what is there, and sign them."""
    rows = connection.execute(sa.select(leaves).order_by(leaves.c.position)).all()
    payloads = _payloads(connection)
    made, hashes = [], []
    for position, row in enumerate(rows):
        payload = None if row.aside else payloads.get((row.kind, row.cluster, row.id))
        digest = row.digest if payload is None else payload_digest(payload)
        made.append({**row._mapping, "position": position, "digest": digest})  # noqa: SLF001  SQLAlchemy's own way.
        hashes.append(Leaf(row.kind, row.cluster, row.id, digest).hash)
    connection.execute(sa.delete(leaves))
    connection.execute(sa.insert(leaves), made)
    tree, whole = grow(Frontier(), hashes, TILE_LEVELS)
    connection.execute(sa.update(log).values(size=tree.size, frontier=b"".join(tree.hashes)))
    connection.execute(sa.delete(tiles))
    for each in whole:
        values = {"level": each.level, "tile": each.index, "hash": each.hash}
        connection.execute(sa.insert(tiles).values(**values))
    sign_heads_again(connection, hashes)


def sign_heads_again(connection: sa.Connection, hashes: list[bytes], key: Any = KEY) -> None:
    """Sign all heads anew, each over as many records as it had."""
    name = connection.scalar(sa.select(log.c.id)) or ""
    for row in connection.execute(sa.select(heads)).all():
        root = grow(Frontier(), hashes[: row.size])[0].root
        head = sign_head(name, row.size, root, row.time_ms, key)
        same = (heads.c.size == row.size) & (heads.c.time_ms == row.time_ms)
        values = {"head": encode_head(head), "key": head.key}
        connection.execute(sa.update(heads).where(same).values(**values))


def leaf_hashes(connection: sa.Connection) -> list[bytes]:
    """Return the hashes of the leaves as they are."""
    rows = connection.execute(sa.select(leaves).order_by(leaves.c.position))
    return [Leaf(row.kind, row.cluster, row.id, row.digest).hash for row in rows]


def _payloads(connection: sa.Connection) -> dict[tuple[int, str, bytes], bytes]:
    """Return all documents by kind, cluster and id."""
    return {
        (int(kind), row.cluster, row.id): row.document
        for kind, table in BY_KIND.items()
        for row in connection.execute(sa.select(table.c.cluster, table.c.id, table.c.document))
    }
