"""Ways around what a process may record, tried by somebody who holds its certificate."""

from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest

from admission.judge import decision_ids_of
from audit.access.sources.blob_hours import make_gap
from audit.ledger.records.frames import Frame, FrameKind, decision_frame_id
from audit.ledger.server.receiver import ReceiverSettings
from audit.ledger.server.recorded_kinds import why_not_recorded
from audit.ledger.server.requests import Sender
from audit.ledger.store.store import Store
from control.weights.checkpoint import build_gap
from core.base.errors import LedgerError
from core.base.ids import uuid7, writer_uuid7
from core.base.times import milli_text
from core.decision.document import DecisionDocument, encode_document
from core.decision.refusal_aggregate import RefusalAggregate, encode_aggregate
from core.weights.documents.events import LogGap, decode_gap, encode_event
from tests.unit.audit.ledger.server.test_instances import MINE, OTHERS, Pods, sending
from tests.unit.audit.ledger.store.documents import NOW_MS, document
from tests.unit.audit.loopback_auditor import CLUSTER, Memory, running_auditor

REQUIRED: Final = ReceiverSettings(instances="require")
GATE: Final = Sender("gate", MINE)
CONTROL: Final = Sender("control")


def decided(instance: str, writer: str, **changes: Any) -> DecisionDocument:
    """Return a decision that `instance` took, by its own words, under an id of `writer`."""
    made = document(id=decision_ids_of(writer)(), **changes)
    assert isinstance(made, DecisionDocument)
    return msgspec.structs.replace(made, cluster=CLUSTER, instance=instance)


def framed(made: DecisionDocument, content: bytes = b"") -> Frame:
    """Return its frame, with other content if that is given."""
    return Frame(FrameKind.DECISION, decision_frame_id(made.id), content or encode_document(made))


def with_more(made: DecisionDocument, more: str) -> bytes:
    """Return a decision's JSON with more at its end."""
    return encode_document(made)[:-1] + f",{more}}}".encode()


def nested(made: DecisionDocument, depth: int) -> bytes:
    """Return it with a field that nobody knows and that is nested so deep."""
    return with_more(made, f'"x":{"[" * depth}{"]" * depth}')


async def test_a_decision_nested_so_deep_that_only_the_store_can_read_it(tmp_path: Path) -> None:
    """A stolen gate's: wants its decision stored in the name of another gate.

    How much may be nested depends on what is on the stack, which is less where the store reads.
    """
    url = f"sqlite:///{tmp_path / 'ledger.db'}"
    frames = [
        framed(made, nested(made, depth))
        for depth in range(850, 1000)
        for made in [decided(OTHERS, OTHERS)]
    ]
    async with (
        Store(url) as store,
        running_auditor(tmp_path, store, REQUIRED, prover=Pods()) as auditor,
        sending(auditor, tmp_path, "mine") as client,
    ):
        receipt = await client.deliver(CLUSTER, frames)
    assert (receipt.stored, receipt.quarantined) == (0, len(frames))


async def test_a_gap_of_controls_under_the_id_of_the_auditors_next(tmp_path: Path) -> None:
    """A stolen control's: wants that a gap of the storage log is "known", and so never recorded."""
    hour = NOW_MS // 3_600_000 * 3600
    begin, end = hour - 7200, hour - 3600
    true = make_gap(CLUSTER, "insights-logs-storageread/x", begin_s=begin, end_s=end, why="missing")
    mine = build_gap(CLUSTER, "pods", "Pod", float(begin), float(end), "a watch was away")
    forged = msgspec.structs.replace(mine, id=true.id)
    url = f"sqlite:///{tmp_path / 'ledger.db'}"
    async with (
        Store(url, lambda: NOW_MS / 1000) as store,
        running_auditor(tmp_path, store) as auditor,
        sending(auditor, tmp_path, None, "control") as client,
    ):
        receipt = await client.deliver(CLUSTER, [gap_frame(forged), gap_frame(mine)])
        assert (receipt.stored, receipt.quarantined) == (1, 1)
        assert (await store.deliver(CLUSTER, [gap_frame(true)])).stored == 1
        kept = await store.documents(FrameKind.LOG_GAP, 0, NOW_MS + 86_400_000)
    assert {decode_gap(each.payload).log for each in kept} == {"pods", "storage"}


def gap_frame(gap: LogGap) -> Frame:
    """Return the frame of a gap."""
    return Frame(FrameKind.LOG_GAP, decision_frame_id(gap.id), encode_event(gap))


@pytest.mark.parametrize("field", ["subject", "begin", "end", "log", "cluster"])
def test_a_gap_whose_id_follows_from_another(field: str) -> None:
    """A stolen control's: wants the id of another gap of its own kind taken before it comes."""
    gap = build_gap(CLUSTER, "pods", "Pod", 1_790_000_000.0, 1_790_000_060.0, "away")
    other = {"log": "changes", "cluster": "another"}.get(field, "2026-01-01T00:00:00.000Z")
    changed = msgspec.structs.replace(gap, **{field: other})
    assert why_not_recorded(CONTROL, gap_frame(gap)) == ""
    assert "not its own" in why_not_recorded(CONTROL, gap_frame(changed))


@pytest.mark.parametrize("when", ["0001-01-01", "never", "9999-12-31T23:59:59-23:59", ""])
def test_a_gap_at_a_time_that_is_none(when: str) -> None:
    """A stolen control's: wants the check to fail, and the record to pass."""
    gap = build_gap(CLUSTER, "pods", "Pod", 1_790_000_000.0, 1_790_000_060.0, "away")
    assert why_not_recorded(CONTROL, gap_frame(msgspec.structs.replace(gap, begin=when)))


MORE_WAYS: Final = {
    "another gate's name after one's own": '"instance":"sallyport-gate-7c9-bbbbb"',
    "another source after the true one": '"source":"sweep"',
    "both again in other letters": '"source":"sweep","Source":"validate","INSTANCE":"x"',
}


@pytest.mark.parametrize("more", MORE_WAYS.values(), ids=MORE_WAYS)
def test_a_key_that_comes_twice(more: str) -> None:
    """A stolen gate's: wants the check to read the first one, and the ledger the last."""
    mine = decided(MINE, MINE)
    assert why_not_recorded(GATE, framed(mine)) == ""
    assert why_not_recorded(GATE, framed(mine, with_more(mine, more)))


def test_a_key_in_other_letters_is_another_key() -> None:
    """A stolen gate's: wants `Instance` to stand for `instance`; it stands for nothing."""
    forged = framed(decided(OTHERS, MINE), with_more(decided(OTHERS, MINE), f'"Instance":"{MINE}"'))
    assert why_not_recorded(GATE, forged)


@pytest.mark.parametrize("kind", sorted(set(FrameKind) - {1, 2, 15}))
def test_a_decision_as_a_frame_of_another_kind(kind: FrameKind) -> None:
    """A stolen gate's: wants a refusal's leaf, a retention's, or what else would be believed."""
    made = decided(MINE, MINE)
    frame = Frame(kind, decision_frame_id(made.id), encode_document(made))
    assert kind.name in why_not_recorded(GATE, frame)


async def test_an_aggregate_or_a_projection_under_a_decisions_id(tmp_path: Path) -> None:
    """A stolen gate's: wants an id that another gate has answered with taken before it ships."""
    theirs = decided(OTHERS, OTHERS)
    identity = decision_frame_id(theirs.id)
    taken = [
        Frame(FrameKind.AGGREGATE, identity, encode_document(theirs)),
        Frame(FrameKind.PROJECTION, identity, encode_document(theirs)),
        Frame(FrameKind.PROJECTION, identity.ljust(32, b"\0"), b"{}"),
    ]
    async with (
        Store(f"sqlite:///{tmp_path / 'ledger.db'}") as store,
        running_auditor(tmp_path, store, REQUIRED, prover=Pods()) as auditor,
    ):
        async with sending(auditor, tmp_path, "mine") as client:
            assert (await client.deliver(CLUSTER, taken)).quarantined == len(taken)
        async with sending(auditor, tmp_path, "others") as client:
            assert (await client.deliver(CLUSTER, [framed(theirs)])).stored == 1
        (kept,) = (await store.decisions(CLUSTER, [identity])).values()
    assert kept == encode_document(theirs)


async def test_aggregates_of_nobody(tmp_path: Path) -> None:
    """Whoever read the gates' shared certificate: wants refusals counted that nobody was given."""
    made = RefusalAggregate(
        format=1,
        id=writer_uuid7(NOW_MS, MINE),
        time=milli_text(NOW_MS),
        first=milli_text(NOW_MS - 120_000),
        cluster=CLUSTER,
        count=1_000_000,
        verdict="deny",
        why="budget",
        namespace="train",
        requester="user:0123456789abcdef",
        instance=MINE,
    )
    frame = Frame(FrameKind.AGGREGATE, decision_frame_id(made.id), encode_aggregate(made))
    memory = Memory()
    async with running_auditor(tmp_path, memory, REQUIRED, prover=Pods()) as auditor:
        async with sending(auditor, tmp_path, None) as client:
            assert (await client.deliver(CLUSTER, [frame])).quarantined == 1
        assert not memory.kept
        async with sending(auditor, tmp_path, "mine") as client:
            assert (await client.deliver(CLUSTER, [frame])).stored == 1


@pytest.mark.parametrize(
    "uri",
    [
        f"gate/{MINE}/../{OTHERS}",
        f"gate/{OTHERS}%00",
        "gate//",
        "control/pod",
        "auditor",
        "GATE",
        f"gate/{MINE}\n",
    ],
)
async def test_a_certificate_that_names_a_process_oddly(tmp_path: Path, uri: str) -> None:
    """Whoever has one of the CA: wants to be another gate, or a process that records more."""
    memory = Memory()
    async with (
        running_auditor(tmp_path, memory, REQUIRED, prover=Pods()) as auditor,
        sending(auditor, tmp_path, "mine", uri) as client,
    ):
        with_their_name = [framed(decided(OTHERS, OTHERS)), framed(decided(uri[5:], OTHERS))]
        with suppress(LedgerError):  # Refused, or set aside.
            await client.deliver(CLUSTER, with_their_name)
    assert not memory.kept


async def test_a_second_decision_of_ones_own_under_one_id(tmp_path: Path) -> None:
    """A stolen gate's: wants to unsay what it answered, once the ledger has it."""
    made = decided(MINE, MINE)
    unsaid = msgspec.structs.replace(made, requester="system:serviceaccount:a:b")
    async with (
        Store(f"sqlite:///{tmp_path / 'ledger.db'}") as store,
        running_auditor(tmp_path, store, REQUIRED, prover=Pods()) as auditor,
        sending(auditor, tmp_path, "mine") as client,
    ):
        assert (await client.deliver(CLUSTER, [framed(made)])).stored == 1
        assert (await client.deliver(CLUSTER, [framed(unsaid)])).quarantined == 1
        (kept,) = (await store.decisions(CLUSTER, [decision_frame_id(made.id)])).values()
    assert kept == encode_document(made)


@pytest.mark.parametrize("days", [-5000, 2])
async def test_a_decision_of_another_day(tmp_path: Path, days: int) -> None:
    """A stolen gate's: wants a decision in the past that is sealed, or in days to come."""
    at = NOW_MS + days * 86_400_000
    bits = int(decision_ids_of(MINE)().replace("-", ""), 16)
    own = bits >> 64 & 0xFFF
    identity = uuid7(at, own << 62 | bits & (1 << 62) - 1)
    made = decided(MINE, MINE)
    old = msgspec.structs.replace(made, id=identity)
    assert why_not_recorded(GATE, framed(old)) == ""
    async with Store(f"sqlite:///{tmp_path / 'ledger.db'}", lambda: NOW_MS / 1000) as store:
        assert (await store.deliver(CLUSTER, [framed(old)])).quarantined == 1
