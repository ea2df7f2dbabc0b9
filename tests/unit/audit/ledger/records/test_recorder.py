"""A decision becomes a document in the spool; its projection goes before it, once a day."""

import hashlib
from dataclasses import dataclass, field
from operator import attrgetter

import msgspec
import pytest

from audit.ledger.records.frames import FrameKind
from audit.ledger.records.recorder import MAX_PROJECTION, LedgerRecorder
from audit.ledger.records.refusal_budget import RefusalBudget
from core.base.errors import NotRecordedError
from core.base.ids import uuid7, uuid7_time, writer_bits, writer_bits_of
from core.decision.decision import Decision, Evidence, Need, Verdict
from core.decision.document import FORMAT, decode_document, encode_document
from core.decision.refusal_aggregate import decode_aggregate
from core.decision.request import Kind, Operation, Request
from core.decision.sweep_document import SweepDocument, decode_sweep
from core.people.subject import Subject

NOON = 1_790_000_000_000
DAY = 86_400_000
REQUEST = Request(
    uid="705ab4f5",
    kind=Kind("Pod", "v1"),
    operation=Operation.CREATE,
    subject=Subject("alice@example.com"),
    namespace="train",
    name="llama-0",
)


@dataclass
class Spool:
    """Keeps frames in a list."""

    full: bool = False
    frames: list[tuple[int, bytes, bytes]] = field(default_factory=list)

    def append(self, kind: int, frame_id: bytes, payload: bytes) -> None:
        """Keep one."""
        if self.full:
            raise NotRecordedError("full")
        self.frames.append((kind, frame_id, payload))


def decision(at: int = NOON, projection: bytes = b'{"containers":[]}') -> Decision:
    """Return a decision of a moment."""
    needs = (Need("privileges/host/network", "host/network", "spec.hostNetwork"),)
    evidence = Evidence(needs=needs, subjects=(REQUEST.subject,), projection=projection)
    return Decision(id=uuid7(at), verdict=Verdict.ALLOW, allowed=True, evidence=evidence)


def recorder(spool: Spool, naming: str = "label") -> LedgerRecorder:
    """Return a recorder into the spool."""
    return LedgerRecorder(spool, lambda: "c1", attrgetter(naming))


def test_the_projection_goes_before_its_first_decision() -> None:
    """Named by its SHA-256, in the document too; the second decision does not send it again."""
    spool = Spool()
    keeps = recorder(spool)
    for made in (decision(), decision(NOON + 1)):
        keeps.record("validate", REQUEST, made, [], 0.001)
    kinds = [kind for kind, _, _ in spool.frames]
    assert kinds == [FrameKind.PROJECTION, FrameKind.DECISION, FrameKind.DECISION]
    digest = hashlib.sha256(b'{"containers":[]}').digest()
    assert spool.frames[0][1:] == (digest, b'{"containers":[]}')
    document = decode_document(spool.frames[1][2])
    assert document.projection == f"sha256:{digest.hex()}"
    assert document.cluster == "c1"
    assert document.needs[0].privilege == "host/network"
    assert document.time == "2026-09-21T14:13:20.000Z"


def test_the_projection_goes_again_the_next_day() -> None:
    """A store may have forgotten what no kept day refers to."""
    spool = Spool()
    keeps = recorder(spool)
    for at in (NOON, NOON + DAY):
        keeps.record("validate", REQUEST, decision(at), [], 0.001)
    assert [kind for kind, _, _ in spool.frames] == [2, 1, 2, 1]


def test_of_a_huge_projection_only_the_digest_is_kept() -> None:
    """An object of 1.5 MiB must not fill the spool."""
    spool = Spool()
    projection = b" " * (MAX_PROJECTION + 1)
    recorder(spool).record("validate", REQUEST, decision(projection=projection), [], 0.001)
    ((kind, _, payload),) = spool.frames
    assert kind == FrameKind.DECISION
    assert decode_document(payload).projection.startswith("sha256:")


def test_a_projection_that_was_not_taken_is_sent_with_the_next() -> None:
    """Only what the spool took is remembered."""
    spool = Spool(full=True)
    keeps = recorder(spool)
    with pytest.raises(NotRecordedError):
        keeps.record("validate", REQUEST, decision(), [], 0.001)
    spool.full = False
    keeps.record("validate", REQUEST, decision(), [], 0.001)
    assert [kind for kind, _, _ in spool.frames] == [2, 1]


@pytest.mark.parametrize(
    ("naming", "kept"),
    [("label", Subject("alice@example.com").label), ("username", "alice@example.com")],
)
def test_people_are_kept_as_the_operator_chose(naming: str, kept: str) -> None:
    """A pseudonym, or the user name; nothing else of the user."""
    spool = Spool()
    recorder(spool, naming).record("validate", REQUEST, decision(), [], 0.001)
    document = decode_document(spool.frames[-1][2])
    assert (document.requester, document.subjects) == (kept, [kept])


@pytest.mark.parametrize(("format_", "read"), [(FORMAT + 1, True), (FORMAT + 2, False)])
def test_the_next_format_is_read_and_no_later_one(format_: int, *, read: bool) -> None:
    """Fields of a later release are skipped."""
    spool = Spool()
    recorder(spool).record("validate", REQUEST, decision(), [], 0.001)
    later = msgspec.json.decode(spool.frames[-1][2]) | {"format": format_, "novelty": {"a": 1}}
    content = msgspec.json.encode(later)
    if read:
        assert encode_document(decode_document(content))
        return
    with pytest.raises(ValueError, match=f"format {format_}: this release reads"):
        decode_document(content)


def test_a_finished_sweep_is_kept_under_its_id() -> None:
    """As a frame of its own kind, and as a line where lines are asked for."""
    spool, lines = Spool(), list[bytes]()
    sweep = SweepDocument(
        format=FORMAT,
        id=uuid7(NOON),
        cluster="c1",
        started=uuid7_time(uuid7(NOON)),
        finished=uuid7_time(uuid7(NOON + 1)),
        objects=3,
        verdicts={"deny": 3},
        namespaces=1,
    )
    LedgerRecorder(spool, lambda: "c1", attrgetter("label"), lines.append).record_sweep(sweep)
    ((kind, frame_id, payload),) = spool.frames
    assert (kind, frame_id.hex()) == (FrameKind.SWEEP, sweep.id.replace("-", ""))
    assert decode_sweep(payload) == sweep
    assert lines == [payload]


def test_what_the_spool_does_not_take_is_no_line() -> None:
    """Its decision may be answered otherwise; the log says how."""
    lines = list[bytes]()
    keeps = LedgerRecorder(Spool(full=True), lambda: "c1", attrgetter("label"), lines.append)
    with pytest.raises(NotRecordedError):
        keeps.record("validate", REQUEST, decision(projection=b""), [], 0.001)
    assert lines == []


def test_an_aggregate_carries_the_gate_that_counted_under_an_id_of_its_own() -> None:
    """The auditor takes of a gate what it counted itself, and nothing in another's name."""
    spool, budget = Spool(), RefusalBudget(1, clock=lambda: 0.0)
    recording = LedgerRecorder(
        spool, lambda: "c1", attrgetter("label"), budget=budget, instance="gate-a"
    )
    for number in range(4):
        refused = Decision(id=uuid7(NOON + number), verdict=Verdict.DENY, allowed=False)
        recording.record("validate", REQUEST, refused, (), 0.0)
    recording.seal_aggregates(ends=True)
    (made,) = (each for each in spool.frames if each[0] == FrameKind.AGGREGATE)
    assert decode_aggregate(made[2]).instance == "gate-a"
    assert writer_bits_of(made[1]) == writer_bits("gate-a")
