"""Heads at a steady beat: signed when there is more to sign, and brought to each anchor."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from structlog.testing import capture_logs

from audit.ledger.log.anchors import Anchor
from audit.ledger.log.head_publisher import HeadPublisher
from audit.ledger.log.heads import TreeHead, is_signed
from audit.ledger.log.keys import read_key
from audit.ledger.log.leaves import MARK_BYTES, mark_of
from audit.ledger.log.metrics import LogCollector
from audit.ledger.store.delivery import Delivery
from audit.ledger.store.store import Store
from core.base.errors import LedgerError
from tests.unit.audit.ledger.store.conftest import clock
from tests.unit.audit.ledger.store.documents import CLUSTER
from tests.unit.audit.ledger.store.log_invariants import access
from webhooks.log import get_logger


class Kept:
    """An anchor in memory, which may fail; it keeps the protocol of `anchors.Anchor`."""

    def __init__(self, name: str = "kept", *, keeps_marks: bool = True) -> None:
        self.name = name
        self.keeps_marks = keeps_marks
        self.heads: list[TreeHead] = []
        self.marks = b""
        self.problem = ""

    async def reached(self) -> int:
        """Return how many leaves it has."""
        if self.problem:
            raise LedgerError(self.problem)
        return self.heads[-1].size if self.heads else 0

    async def publish(self, head: TreeHead, marks: bytes) -> None:
        """Keep a head and the marks that are not there; another auditor may have been here."""
        reached = await self.reached()
        if head.size > reached:
            missing = (head.size - reached) * MARK_BYTES * self.keeps_marks
            assert len(marks) >= missing
            self.heads.append(head)
            self.marks += marks[len(marks) - missing :]


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    """A ledger."""
    async with Store(f"sqlite:///{tmp_path / 'ledger.db'}", clock) as opened:
        yield opened


def publishing_to(store: Store, tmp_path: Path, *anchors: Anchor) -> HeadPublisher:
    """Return who signs the ledger's heads."""
    return HeadPublisher(store, tmp_path / "ledger.key", anchors, get_logger(), clock)


async def add(store: Store, first: int, count: int) -> None:
    """Let the log grow."""
    batch = [access(number) for number in range(first, first + count)]
    await store.ingest(CLUSTER, Delivery(accesses=batch))


async def test_a_head_is_signed_when_there_is_more_to_sign(store: Store, tmp_path: Path) -> None:
    """The key is made at first; a beat without anything new signs nothing."""
    publishing = publishing_to(store, tmp_path)
    await publishing.beat()
    assert await store.heads() == []
    for first in (0, 5):
        await add(store, first, 5)
        await publishing.beat()
        await publishing.beat()
    heads = await store.heads()
    assert [head.size for head in heads] == [5, 10]
    key = read_key(tmp_path / "ledger.key")
    assert key is not None
    for head in heads:
        assert is_signed(head, key.public_key())
        assert head.root == (await store.frontier(head.size)).root.hex()
    assert not publishing.failures["signing"]


async def test_anchors_get_the_head_and_the_marks_they_lack(store: Store, tmp_path: Path) -> None:
    """One that keeps no marks is given none; one that was away gets all that it missed."""
    away, bare = Kept("away"), Kept("bare", keeps_marks=False)
    publishing = publishing_to(store, tmp_path, away, bare)
    with capture_logs() as lines:
        await add(store, 0, 3)
        await publishing.beat()
        away.problem = "disk full"
        await add(store, 3, 3)
        await publishing.beat()
        await publishing.beat()
        away.problem = ""
        await add(store, 6, 3)
        await publishing.beat()
    assert [head.size for head in away.heads] == [3, 9]
    assert [head.size for head in bare.heads] == [3, 6, 9]
    assert away.marks == b"".join(map(mark_of, await store.leaf_hashes(0, 9)))
    assert publishing.failures == {"away": 2, "bare": 0}
    assert publishing.anchored == {"away": 9, "bare": 9}
    told = [(line["event"], line.get("problem")) for line in lines if "anchor" in line]
    assert told == [("anchor not reached", "disk full"), ("anchor reached again", None)]


async def test_an_anchor_that_has_more_than_the_ledger_is_told_of(
    store: Store, tmp_path: Path
) -> None:
    """A ledger that was put back to what it was is not anchored over what it had been."""
    anchor = Kept()
    await add(store, 0, 5)
    await publishing_to(store, tmp_path, anchor).beat()
    async with Store(f"sqlite:///{tmp_path / 'older.db'}", clock) as older:
        await add(older, 0, 3)
        publishing = publishing_to(older, tmp_path, anchor)
        with capture_logs() as lines:
            await publishing.beat()
    assert [head.size for head in anchor.heads] == [5]
    assert publishing.failures["kept"] == 1
    assert "it has 5 records of the ledger, whose last head has 3" in lines[-1]["problem"]


async def test_two_auditors_of_one_ledger_do_not_alarm_each_other(
    store: Store, tmp_path: Path
) -> None:
    """Between any two questions of one, the other may append, sign and bring a head."""
    anchor = Kept()
    other = publishing_to(store, tmp_path, anchor)

    class Busy:
        """The ledger, of which another auditor does something before each answer."""

        count = 0

        def __getattr__(self, name: str) -> Any:
            """Return the ledger's method, behind what the other one does."""

            async def ask(*arguments: Any) -> Any:
                self.count += 1
                await add(store, self.count, 1)
                await other.beat()
                return await getattr(store, name)(*arguments)

            return ask

    one = HeadPublisher(Busy(), tmp_path / "ledger.key", [anchor], get_logger(), clock)
    for _ in range(3):
        await one.beat()
    assert one.failures.total() == other.failures.total() == 0
    assert anchor.heads[-1].size == (await store.log_state()).tree.size > 5


async def test_a_key_that_went_is_not_replaced_silently(store: Store, tmp_path: Path) -> None:
    """Heads were signed with it: another key is made on purpose or not at all."""
    publishing = publishing_to(store, tmp_path)
    await add(store, 0, 2)
    await publishing.beat()
    (tmp_path / "ledger.key").unlink()
    await add(store, 2, 2)
    with capture_logs() as lines:
        await publishing.beat()
    assert [head.size for head in await store.heads()] == [2]
    assert publishing.failures["signing"] == 1
    assert "ledger.key is not there" in lines[-1]["problem"]
    assert not (tmp_path / "ledger.key").exists()


async def test_metrics_say_how_far_each_is(store: Store, tmp_path: Path) -> None:
    """What is stored, signed and anchored, and what failed."""
    anchor = Kept()
    publishing = publishing_to(store, tmp_path, anchor)
    await add(store, 0, 4)
    await publishing.beat()
    anchor.problem = "away"
    await add(store, 4, 1)
    await publishing.beat()
    registry = CollectorRegistry()
    registry.register(LogCollector(lambda: publishing, lambda: 3))
    text = generate_latest(registry).decode()
    for line in (
        "sallyport_ledger_records 5.0",
        "sallyport_ledger_signed_records 5.0",
        "sallyport_ledger_rows_outside 3.0",
        'sallyport_ledger_anchored_records{anchor="kept"} 4.0',
        'sallyport_ledger_anchor_failures_total{anchor="kept"} 1.0',
        'sallyport_ledger_anchored_timestamp_seconds{anchor="kept"} 1.7952624e+09',
    ):
        assert line in text
