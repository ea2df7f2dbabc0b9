"""Which process of a cluster sends which records: its certificate says what it is.

A gate answers strangers, and one that is taken over must not write what only `control`, or the
auditor itself, can know: accesses, findings, Pods' lives, gaps. What a process cannot have recorded
is set aside with the reason, so that nothing is lost and its shipper goes on.

Of a gate whose instance is proved, only decisions and aggregates are taken that carry it, under ids
that are its own (`core.base.ids.writer_uuid7`): it speaks for no other gate, and takes no id that
another will use. What carries none is of a release that knew no instances, and is not proved: a
spool can outlive an upgrade. The ids of a sweep's decisions follow from the sweep and the object,
so that `control` takes no id of a gate. The other ids that follow from what they name (of lives,
gaps, accesses, findings) are of kinds that one process alone records; of gaps, each process
records those of its own logs, each under the id that follows from it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import msgspec

from audit.ledger.records.frames import Frame, FrameKind, decision_frame_id
from audit.ledger.server.requests import GATE, Sender
from core.base.ids import writer_bits, writer_bits_of
from core.base.times import milliseconds_of
from core.decision.sweep_document import sweep_decision_id
from core.weights.documents.events import gap_id

_DECISIONS: Final = frozenset({FrameKind.DECISION, FrameKind.PROJECTION})


@dataclass(frozen=True)
class RecordedKinds:
    """What a process records."""

    kinds: frozenset[FrameKind]
    sources: frozenset[str]
    """Of its decisions (`core.decision.document.DecisionSource`)."""
    gap_logs: frozenset[str] = frozenset()
    """Of its gaps (`core.weights.documents.events.LogGap.log`)."""


RECORDED_BY: Final[Mapping[str, RecordedKinds]] = {
    GATE: RecordedKinds(_DECISIONS | {FrameKind.AGGREGATE}, frozenset({"validate", "mutate"})),
    "control": RecordedKinds(
        _DECISIONS
        | {
            FrameKind.SWEEP,
            FrameKind.LOOK_BACK,
            FrameKind.LOG_GAP,
            FrameKind.POD_LIFE,
            FrameKind.CHANGE,
        },
        frozenset({"sweep"}),
        frozenset({"pods", "identities", "changes"}),
    ),
}
"""By the process that a certificate names; the other kinds only the auditor itself records."""


class _Request(msgspec.Struct, rename="camel"):
    object_uid: str = ""


class _Decision(msgspec.Struct):
    source: str
    instance: str = ""
    sweep: str = ""
    request: _Request = msgspec.field(default_factory=_Request)


class _Aggregate(msgspec.Struct):
    first: str
    time: str
    count: int
    why: str
    instance: str = ""


class _Gap(msgspec.Struct):
    cluster: str
    log: str
    subject: str
    begin: str
    end: str


MOST_COUNTED_PER_S: Final = 10_000
"""More refusals than a gate answers in a second: 1,500 on a core, 6,000 of one object."""

MOST_COUNTED_S: Final = 7 * 86_400
"""The longest time from the first to the last refusal of an aggregate. Each minute is one; only
while its spool is nearly full does a gate count on."""

_DECODER: Final = msgspec.json.Decoder(_Decision)
_GAP: Final = msgspec.json.Decoder(_Gap)
_AGGREGATE: Final = msgspec.json.Decoder(_Aggregate)

NOT_PROVED: Final = (
    "nothing proves which gate it is of: give gates shipping.token, or set receive.instances to "
    "check while gates of an earlier release ship"
)

NO_SWEEP: Final = (
    "it does not say of which sweep it is, from which its id must follow: set receive.instances to "
    "check while a control of an earlier release ships"
)

UNPROVED: Final = frozenset({NOT_PROVED, NO_SWEEP})
"""Why records of an earlier release are set aside, where proof is demanded."""


def why_not_recorded(sender: Sender, frame: Frame) -> str:
    """Return why a sender cannot have recorded a frame; empty where it can.

    What is in `UNPROVED` comes last: nothing else speaks against the frame, and where no proof is
    demanded it is taken.

    What cannot be read is left to the store, as is a kind that a later release may know; but not
    what is nested too deeply for here: the store, with less on its stack, might read it.
    """
    try:
        kind = FrameKind(frame.kind)
    except ValueError:
        return ""
    if kind not in RECORDED_BY[sender.process].kinds:
        return _said(sender.process, kind.name)
    try:
        return _why_not(sender, kind, frame)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return ""
    except (ValueError, OverflowError, RecursionError):
        problem = "nested too deeply, or a time that is none"
        return f"{sender.process} sent what cannot be read here: {problem}"


def _why_not(sender: Sender, kind: FrameKind, frame: Frame) -> str:
    if kind is FrameKind.DECISION:
        return _why_not_decided(sender, frame)
    if kind is FrameKind.AGGREGATE:
        return _why_not_counted(sender, frame)
    return _why_no_gap(sender.process, frame) if kind is FrameKind.LOG_GAP else ""


def _why_not_decided(sender: Sender, frame: Frame) -> str:
    decision, process = _DECODER.decode(frame.payload), sender.process
    if decision.source not in RECORDED_BY[process].sources:
        return _said(process, f"decisions of source {decision.source[:64]}")
    if process != GATE:
        return _why_not_of_sweep(frame, decision)
    return _why_not_its_own(sender, frame, decision.instance)


def _why_not_of_sweep(frame: Frame, decision: _Decision) -> str:
    """Return why the id of a sweep's decision does not follow from its sweep and its object."""
    if not decision.sweep:
        return NO_SWEEP
    if frame.id != decision_frame_id(
        sweep_decision_id(decision.sweep, decision.request.object_uid)
    ):
        return "the id of control's decision does not follow from its sweep and object"
    return ""


def _why_not_counted(sender: Sender, frame: Frame) -> str:
    counted = _AGGREGATE.decode(frame.payload)
    if counted.why != "budget":
        return _said(sender.process, f"aggregates of what went by {counted.why[:64]}")
    first, last = milliseconds_of(counted.first), milliseconds_of(counted.time)
    if not 0 <= last - first <= MOST_COUNTED_S * 1000:
        return f"it counts from {counted.first[:64]} to {counted.time[:64]}: no gate does"
    if counted.count > MOST_COUNTED_PER_S * ((last - first) // 1000 + 1):
        return f"it counts {counted.count:,} refusals, more than a gate can answer in that time"
    return _why_not_its_own(sender, frame, counted.instance)


def _why_not_its_own(sender: Sender, frame: Frame, claimed: str) -> str:
    """Return why a record that says which gate made it is not of the gate that sends it."""
    instance = sender.instance
    if not instance or not claimed:
        return NOT_PROVED
    if claimed != instance:
        return f"the gate {instance} took no decision of the gate {claimed[:64]}"
    if writer_bits_of(frame.id) != writer_bits(instance):
        return f"the gate {instance} gives its decisions other ids: this is another writer's"
    return ""


def _why_no_gap(process: str, frame: Frame) -> str:
    """Return why a process has no such gap: of another's logs, or under the id of another gap."""
    gap = _GAP.decode(frame.payload)
    if gap.log not in RECORDED_BY[process].gap_logs:
        return _said(process, f"gaps of the log {gap.log[:64]}")
    begin, end = milliseconds_of(gap.begin), milliseconds_of(gap.end)
    if frame.id != decision_frame_id(gap_id(gap.cluster, gap.log, gap.subject, begin, end)):
        return f"the id of {process}'s gap is not its own: it does not follow from what it names"
    return ""


def _said(process: str, what: str) -> str:
    return f"{process} records no {what}: its certificate is used by another"
