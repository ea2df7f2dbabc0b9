"""Look backs in the ledger: each once, found by whom they are about, forgotten with their days."""

import datetime as dt
from dataclasses import dataclass, field
from typing import Any

import msgspec
import pytest

from audit.ledger.records.frames import Frame
from audit.ledger.records.recorder import MAX_LOOK_BACK, LedgerRecorder
from audit.ledger.store.store import Store
from core.base.ids import uuid7
from core.base.times import DAY_MS
from core.risk.look_back import FORMAT, Item, LookBackDocument, Sort, State, decode_look_back
from tests.unit.audit.ledger.store.conftest import clock
from tests.unit.audit.ledger.store.documents import CLUSTER, NOW_MS
from tests.unit.audit.ledger.store.earlier_releases import make_former

ALICE = "oid:11111111-2222-4333-8444-555555555501"
ITEM = Item(
    sort=Sort.ENTERED,
    state=State.THERE,
    at="2026-11-19T14:00:00Z",
    how="entered",
    kind="Pod",
    namespace="train",
    name="llm-0",
)


@dataclass
class Spool:
    """Keeps what is appended."""

    frames: list[Frame] = field(default_factory=list)

    def append(self, kind: int, frame_id: bytes, payload: bytes) -> None:
        """Take one frame."""
        self.frames.append(Frame(kind, frame_id, payload))


def look_back(at_ms: int = NOW_MS, **changes: Any) -> LookBackDocument:
    """Return what somebody left behind."""
    made = LookBackDocument(
        format=FORMAT,
        id=uuid7(at_ms),
        cluster=CLUSTER,
        subject=ALICE,
        begin="2026-11-19T11:00:00Z",
        end="2026-11-21T12:00:00Z",
        items=[ITEM],
    )
    return msgspec.structs.replace(made, **changes)


def recorded(*documents: LookBackDocument) -> list[Frame]:
    """Return the frames that a recorder makes of them."""
    spool = Spool()
    recorder = LedgerRecorder(spool, lambda: CLUSTER, lambda subject: subject.label)
    for each in documents:
        recorder.record_look_back(each)
    return spool.frames


async def test_each_is_kept_once_and_found_by_its_subject(store: Store) -> None:
    """The newest first; whoever is asked about another one, or another cluster, gets none."""
    old, new = look_back(NOW_MS - 5000), look_back()
    frames = recorded(old, new, new)
    receipt = await store.deliver(CLUSTER, frames)
    assert (receipt.stored, receipt.known, receipt.quarantined) == (2, 1, 0)
    assert await store.look_backs(ALICE, None, 10) == [new, old]
    assert await store.look_backs(ALICE, CLUSTER, 1) == [new]
    assert await store.look_backs(ALICE, "other", 10) == []
    assert await store.look_backs("oid:x", None, 10) == []


async def test_what_is_made_again_after_a_leaders_death_changes_nothing(store: Store) -> None:
    """The id is the same, so the first one stays."""
    first = look_back()
    again = msgspec.structs.replace(first, more_items=5)
    await store.deliver(CLUSTER, recorded(first))
    assert (await store.deliver(CLUSTER, recorded(again))).stored == 0
    assert await store.look_backs(ALICE, None, 10) == [first]


async def test_another_clusters_look_back_is_not_taken(store: Store) -> None:
    """A gate may write nothing under another cluster's name."""
    receipt = await store.deliver(CLUSTER, recorded(look_back(cluster="other")))
    assert (receipt.stored, receipt.quarantined) == (0, 1)


async def test_look_backs_are_removed_with_their_days(store: Store) -> None:
    """As decisions are."""
    await store.deliver(CLUSTER, recorded(look_back(NOW_MS - 3 * DAY_MS), look_back()))
    await store.retain(2, dt.datetime.fromtimestamp(NOW_MS / 1000, dt.UTC).date())
    assert len(await store.look_backs(ALICE, None, 10)) == 1


async def test_a_ledger_of_the_release_before_has_none_until_it_is_written_to(
    url: str,
) -> None:
    """A reader makes no table, and says so by finding none; whoever writes brings it up to date."""
    make_former(url, "0001")
    reader = Store(url, clock)
    await reader.open(make=False)
    assert await reader.look_backs(ALICE, None, 10) == []
    await reader.close()
    document = look_back()
    async with Store(url, clock) as writer:
        await writer.deliver(CLUSTER, recorded(document))
        assert await writer.look_backs(ALICE, None, 10) == [document]


def test_a_large_one_is_cut_and_says_so() -> None:
    """It fits into a frame whatever was found; what is left out is counted."""
    long = msgspec.structs.replace(ITEM, name="n" * 253, uid="u" * 253, namespace="s" * 63)
    (frame,) = recorded(look_back(items=[long] * 1000))
    found = decode_look_back(frame.payload)
    assert len(frame.payload) <= MAX_LOOK_BACK
    assert len(found.items) + found.more_items == 1000
    assert len(found.items) > 100


def test_a_format_too_new_is_refused() -> None:
    """Release N reads N + 1, and nothing later."""
    text = msgspec.json.encode(look_back(format=FORMAT + 1))
    assert decode_look_back(text).format == FORMAT + 1
    with pytest.raises(ValueError, match="this release reads"):
        decode_look_back(msgspec.json.encode(look_back(format=FORMAT + 2)))
