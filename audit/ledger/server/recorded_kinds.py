"""Which process of a cluster sends which records: its certificate says what it is.

A gate answers strangers, and one that is taken over must not write what only `control`, or the
auditor itself, can know: accesses, findings, Pods' lives, gaps. What a process cannot have recorded
is set aside with the reason, so that nothing is lost and its shipper goes on.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import msgspec

from audit.ledger.records.frames import Frame, FrameKind

_DECISIONS: Final = frozenset({FrameKind.DECISION, FrameKind.PROJECTION})


@dataclass(frozen=True)
class RecordedKinds:
    """What a process records."""

    kinds: frozenset[FrameKind]
    sources: frozenset[str]
    """Of its decisions (`core.decision.document.DecisionSource`)."""


RECORDED_BY: Final[Mapping[str, RecordedKinds]] = {
    "gate": RecordedKinds(_DECISIONS | {FrameKind.AGGREGATE}, frozenset({"validate", "mutate"})),
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
    ),
}
"""By the process that a certificate names; the other kinds only the auditor itself records."""


class _Decision(msgspec.Struct):
    source: str


_DECODER: Final = msgspec.json.Decoder(_Decision)


def why_not_recorded(process: str, frame: Frame) -> str:
    """Return why a process cannot have recorded a frame; empty where it can.

    What cannot be read is left to the store, as is a kind that a later release may know.
    """
    sent = RECORDED_BY[process]
    try:
        kind = FrameKind(frame.kind)
    except ValueError:
        return ""
    if kind not in sent.kinds:
        return f"{process} records no {kind.name}: its certificate is used by another"
    if kind is not FrameKind.DECISION:
        return ""
    try:
        source = _DECODER.decode(frame.payload).source
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return ""
    if source in sent.sources:
        return ""
    what = f"decisions of source {source[:64]}"
    return f"{process} records no {what}: its certificate is used by another"
