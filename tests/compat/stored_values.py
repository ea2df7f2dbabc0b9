"""Everything that outlives a process, or goes to another: an example of each, as it is written.

`STORED` has each by a name that says what it is. Its golden file is what the code writes today;
whoever changes a type's name or place changes nothing of it.
"""

import base64
import ipaddress
import json
import tempfile
import textwrap
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from audit.access.detections.catalogue import DETECTIONS
from audit.access.ingest.past_memories import KeptDays, read_days
from audit.access.server.reads_protocol import ReadsPage
from audit.access.sources.blob_hours import ReadMark, read_marks, write_marks
from audit.behaviour.protocol import BehaviourAnswer
from audit.clients.log_hub import HubPlace, read_place
from audit.ledger.log.adoption import Adoption, decode_adoption, encode_adoption
from audit.ledger.log.anchors import AnchorLine
from audit.ledger.log.export import EndLine, ExportLine, HeadLine, LeafLine
from audit.ledger.log.heads import TreeHead
from audit.ledger.log.proofs import ConsistencyProof, InclusionProof
from audit.ledger.log.retention import Retention, decode_retention, encode_retention
from audit.ledger.records.frames import (
    Frame,
    FrameKind,
    decision_frame_id,
    encode_frame,
    read_frames,
)
from audit.ledger.server.acts_protocol import ActsPage
from audit.ledger.server.frames_protocol import Acknowledged
from audit.ledger.spool.segments import (
    HEADER,
    HEADER_BYTES,
    SpoolPosition,
    check_header,
    read_cursor,
    write_cursor,
)
from audit.notifications.cursor import SinkCursor
from control.certificates.signing_keys import _StoredKey, _StoredKeys
from control.certificates.store import _Stored as _StoredAuthorities
from control.risk.look_back.store import (
    LookBackMemory,
    StoredLookBacks,
    decode_memory,
    encode_memory,
)
from control.sweep.cursor import Cursor
from control.weights.changes.store import StoredChanges, decode_changes, encode_changes
from control.weights.checkpoint import Checkpoint
from core.decision.document import DecisionDocument, decode_document, encode_document
from core.decision.refusal_aggregate import (
    RefusalAggregate,
    decode_aggregate,
    encode_aggregate,
)
from core.decision.sweep_document import SweepDocument, decode_sweep, encode_sweep
from core.policy_bundles import BundleHead, GateAnnouncement
from core.risk.look_back import LookBackDocument, decode_look_back, encode_look_back
from core.risk.snapshot_storage import StoredHead
from core.sandbox.capacity import Capacity, decode_capacity, encode_capacity
from core.weights.documents.access import Access, decode_access, encode_access
from core.weights.documents.events import (
    Activity,
    Finding,
    LogGap,
    decode_activity,
    decode_finding,
    decode_gap,
    encode_event,
)
from core.weights.documents.intake import (
    Intake,
    RefusedRecord,
    decode_intake,
    decode_refused,
    encode_intake,
)
from core.weights.documents.object_change import ObjectChange, decode_change, encode_change
from core.weights.documents.pod_life import PodLife, decode_life, encode_life
from core.weights.documents.store_access import StoreAccess
from core.weights.egress_openings import WeightOpening, decode_openings, encode_openings
from egress.dns.learnt_names import LearntName, SeenAddress
from egress.dns.store import _Name, _Shard, decode_names, encode_names
from policies.bundle.format import Manifest
from tests.compat.examples import example_of
from tests.compat.memories import REMEMBERED, plain

T = TypeVar("T")

WHEN: Final = "2026-11-21T12:00:00.000Z"
ID: Final = "01a1fdfa-4600-741a-844b-d5e85b7c5f0f"
NUMBERED: Final = {"format": 1}
"""Readers refuse another format than their own."""


@dataclass(frozen=True)
class Stored:
    """One thing that is stored."""

    example: Callable[[], Any]
    encode: Callable[[Any], bytes]
    decode: Callable[[bytes], Any]
    plain: Callable[[bytes], bytes] = bytes
    """Takes a compression off, whose bytes are zlib's own: only what is in it must not change."""


def _json(kind: type[T], fixed: Mapping[str, Any] = NUMBERED) -> Stored:
    """Return one that is written as JSON as it is."""
    return Stored(
        lambda: example_of(kind, fixed, json=True),
        msgspec.json.encode,
        lambda content: msgspec.json.decode(content, type=kind),
    )


def _msgpack(kind: type[T], fixed: Mapping[str, Any] = NUMBERED) -> Stored:
    """Return one that is written as MessagePack as it is."""
    return Stored(
        lambda: example_of(kind, fixed),
        msgspec.msgpack.encode,
        lambda content: msgspec.msgpack.decode(content, type=kind),
    )


def _document(
    kind: type[T],
    encode: Callable[[Any], bytes],
    decode: Callable[[bytes], Any],
    fixed: Mapping[str, Any] = NUMBERED,
) -> Stored:
    """Return one that has functions of its own."""
    return Stored(lambda: example_of(kind, fixed, json=True), encode, decode)


def _known_plain(content: bytes) -> bytes:
    return zlib.decompress(base64.b64decode(content))


def _look_backs() -> LookBackMemory:
    done = {b"1" * 16: (1_795_262_400, 2, 1_795_262_401), b"2" * 16: (3, 3, 4)}
    return LookBackMemory(done, ID, {b"3" * 16: (5, 1, 6)})


def _learnt() -> dict[str, LearntName]:
    addresses = map(ipaddress.ip_address, ("192.0.2.1", "2001:db8::1"))
    seen = tuple(
        SeenAddress(address, 300.0 * number) for number, address in enumerate(addresses, 1)
    )
    names = ("a.example", "b.example")
    return {name: LearntName(seen, 900.0, 1200.0, 1500.0) for name in names}


def _frames() -> list[Frame]:
    """Return one of each kind."""
    return [Frame(kind, decision_frame_id(ID), b"{%d}" % kind) for kind in FrameKind]


def _segment(frames: list[Frame]) -> bytes:
    written = (encode_frame(each.kind, each.id, bytes(each.payload)) for each in frames)
    return HEADER + b"".join(written)


def _segment_frames(content: bytes) -> list[Frame]:
    check_header(content)
    return [frame for frame, _ in read_frames(content, HEADER_BYTES)]


def _cursor(position: SpoolPosition) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        write_cursor(Path(folder), position)
        (file,) = Path(folder).iterdir()
        return f"{file.name}: {file.read_text()}".encode()


def _cursor_position(content: bytes) -> SpoolPosition | None:
    name, _, text = content.decode().partition(": ")
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / name).write_text(text)
        return read_cursor(Path(folder))


PLACES: Final = {
    "spool-segment": Stored(_frames, _segment, _segment_frames),
    "spool-cursor": Stored(lambda: SpoolPosition(3, 4711), _cursor, _cursor_position),
    "place-of-hours": Stored(
        lambda: {
            "09/00": ReadMark(12, "01234567", listed=False, size=34),
            "10/00": ReadMark(56, "89abcdef", listed=True, size=0),
        },
        lambda marks: write_marks(marks).encode(),
        lambda content: read_marks(content.decode()),
    ),
    "place-in-hub": Stored(
        lambda: HubPlace(4711, 1_795_262_400_000),
        lambda place: place.text.encode(),
        lambda content: read_place(content.decode()),
    ),
}

STATES: Final = {f"state-of-{each.id}": _msgpack(type(each.begin())) for each in DETECTIONS}

DOCUMENTS: Final = {
    "decision": _document(DecisionDocument, encode_document, decode_document),
    "sweep": _document(SweepDocument, encode_sweep, decode_sweep),
    "refusal-aggregate": _document(RefusalAggregate, encode_aggregate, decode_aggregate),
    "look-back": _document(LookBackDocument, encode_look_back, decode_look_back),
    "access": _document(Access, encode_access, decode_access),
    "activity": _document(Activity, encode_event, decode_activity),
    "finding": _document(Finding, encode_event, decode_finding),
    "log-gap": _document(LogGap, encode_event, decode_gap),
    "pod-life": _document(PodLife, encode_life, decode_life),
    "object-change": _document(ObjectChange, encode_change, decode_change),
    "refused-record": _document(RefusedRecord, encode_intake, decode_refused),
    "intake": _document(Intake, encode_intake, decode_intake),
    "retention": _document(Retention, encode_retention, decode_retention),
    "adoption": _document(Adoption, encode_adoption, decode_adoption),
}

LEDGER: Final = {
    "tree-head": _json(TreeHead),
    "anchor-line": _json(AnchorLine),
    "export-first-line": _json(ExportLine),
    "export-leaf-line": _json(LeafLine),
    "export-head-line": _json(HeadLine),
    "export-last-line": _json(EndLine),
    "inclusion-proof": _json(InclusionProof),
    "consistency-proof": _json(ConsistencyProof),
    "auditor-acknowledged": _json(Acknowledged),
    "auditor-acts": _json(ActsPage),
    "auditor-weight-reads": _json(ReadsPage),
    "auditor-behaviour": _json(BehaviourAnswer),
}

REMEMBERS: Final = {
    f"remembered-{name}": Stored(made, bytes, again, plain)
    for name, (made, again) in REMEMBERED.items()
}
"""The example is what one saves; what is decoded is what one saves that was given it."""

CHECKPOINTS: Final = {
    "memory-days": Stored(lambda: example_of(KeptDays, {"format": 2}), KeptDays.saved, read_days),
}

OBJECTS: Final = {
    "sweep-cursor": _json(Cursor),
    "look-backs": _json(StoredLookBacks),
    "recorded-changes": Stored(
        lambda: example_of(StoredChanges, NUMBERED),
        lambda stored: encode_changes(stored).encode(),
        lambda content: decode_changes(content.decode()),
        _known_plain,
    ),
    "recorded-pods": _json(Checkpoint),
    "sink-cursor": _json(SinkCursor),
    "ca-record": _json(_StoredAuthorities),
    "signing-key": _json(_StoredKey),
    "signing-keys": _json(_StoredKeys),
    "bundles-head": _json(BundleHead),
    "bundles-announcement": _json(GateAnnouncement),
    "bundle-manifest": _json(Manifest),
    "sandbox-capacity": Stored(
        lambda: example_of(Capacity),
        lambda capacity: encode_capacity(capacity).encode(),
        lambda content: decode_capacity(content.decode(), "a summary"),
    ),
    "weight-openings": Stored(
        lambda: tuple(sorted(example_of(tuple[WeightOpening, WeightOpening]))),
        lambda openings: encode_openings(openings).encode(),
        lambda content: decode_openings(content.decode(), "openings"),
    ),
    "risk-head": _json(StoredHead),
    "store-access": _json(StoreAccess),
    "look-backs-memory": Stored(
        _look_backs, encode_memory, lambda content: decode_memory(content, None), plain
    ),
    "dns-names": Stored(
        _learnt,
        lambda names: b"\n".join(encode_names(names)),
        lambda content: decode_names({"0": content}).names,
    ),
    "dns-shard": _json(_Shard),
    "dns-name": _json(_Name),
}

STORED: Final[Mapping[str, Stored]] = {
    **PLACES,
    **STATES,
    **DOCUMENTS,
    **LEDGER,
    **REMEMBERS,
    **CHECKPOINTS,
    **OBJECTS,
}


def golden_of(stored: Stored) -> str:
    """Return the golden file of one thing: its bytes, as text; what is no text is in base64."""
    content = stored.encode(stored.example())
    try:
        return content.decode() + "\n"
    except UnicodeDecodeError:
        lines = textwrap.wrap(base64.b64encode(content).decode(), 96)
        shown = {"base64": lines, "means": _meaning(content)}
        return json.dumps(shown, indent=1) + "\n"


def content_of(golden: str) -> bytes:
    """Return the bytes that a golden file keeps."""
    if golden.startswith('{\n "base64"'):
        return base64.b64decode("".join(json.loads(golden)["base64"]))
    return golden.removesuffix("\n").encode()


def _meaning(content: bytes) -> Any:
    """Show MessagePack for people; nothing reads it."""
    try:
        return msgspec.to_builtins(msgspec.msgpack.decode(plain(content)), str_keys=True)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
