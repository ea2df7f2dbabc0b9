"""Frames: the one form of what is recorded, in a spool's files and on the way to the auditor.

    frame  = length checksum body
    body   = kind id-length id payload
    length = bytes of body, 4 bytes; checksum = CRC-32 of body, 4 bytes (both big-endian)
    kind   = 1 byte; id-length = 1 byte

The id stands before the payload, so that whoever ships or acknowledges a frame need not read it.
"""

import enum
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

MAX_BODY: Final = 1024 * 1024
"""Bytes of one frame's body; the recorder keeps documents and projections to 64 KiB each."""

_HEAD: Final = struct.Struct(">II")
_PREFIX: Final = struct.Struct(">BB")


class FrameKind(enum.IntEnum):
    """What a frame's payload is."""

    DECISION = 1
    """`core.decision.document.DecisionDocument` as JSON; the id is the decision's UUID, 16 bytes.
    """
    PROJECTION = 2
    """A projection as JSON, or what else policies saw; the id is its SHA-256, 32 bytes."""
    SWEEP = 3
    """`core.decision.sweep_document.SweepDocument` as JSON; the id is its UUID, 16 bytes."""
    LOOK_BACK = 4
    """`core.risk.look_back.LookBackDocument` as JSON; the id is the document's UUID, 16 bytes."""
    ACCESS = 5
    """`core.weights.documents.access.Access` as JSON; the id is its UUID, as of all that follow."""
    ACTIVITY = 6
    """`core.weights.documents.events.Activity`."""
    FINDING = 7
    """`core.weights.documents.events.Finding`."""
    LOG_GAP = 8
    """`core.weights.documents.events.LogGap`."""
    POD_LIFE = 9
    """`core.weights.documents.pod_life.PodLife`."""
    CHANGE = 10
    """`core.weights.documents.object_change.ObjectChange`."""
    REFUSED = 11
    """`core.weights.documents.intake.RefusedRecord`."""
    INTAKE = 12
    """`core.weights.documents.intake.Intake`."""
    RETENTION = 13
    """What was removed by policy: `audit.ledger.log`."""
    ADOPTION = 14
    """What was taken in of an earlier release: `audit.ledger.log`."""
    AGGREGATE = 15
    """`core.decision.refusal_aggregate.RefusalAggregate`."""
    REFUSAL = 16
    """A decision of the gate that refused: the log alone calls it so, and senders DECISION. It may
    be removed for want of room, and its leaf goes on proving that it was none that admitted."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One thing that is recorded."""

    kind: int
    """A FrameKind, or one of a later release."""
    id: bytes
    payload: bytes


class DamagedFrameError(ValueError):
    """Bytes are no frame; `offset` is where the whole frames before them end."""

    def __init__(self, offset: int, problem: str) -> None:
        self.offset = offset
        super().__init__(f"at byte {offset}: {problem}")


def decision_frame_id(decision_id: str) -> bytes:
    """Return the frame id of a decision's id."""
    return bytes.fromhex(decision_id.replace("-", ""))


def frame_length(frame_id: bytes, payload: bytes) -> int:
    """Return the bytes of the frame.

    Raises:
        ValueError: it would be larger than a frame may be.
    """
    body = _PREFIX.size + len(frame_id) + len(payload)
    if body > MAX_BODY:
        message = f"{body} bytes are more than a frame holds ({MAX_BODY})"
        raise ValueError(message)
    return _HEAD.size + body


def encode_frame(kind: int, frame_id: bytes, payload: bytes) -> bytes:
    """Return the frame.

    Raises:
        ValueError: it would be larger than MAX_BODY.
    """
    frame_length(frame_id, payload)
    body = _PREFIX.pack(kind, len(frame_id)) + frame_id + payload
    return _HEAD.pack(len(body), zlib.crc32(body)) + body


def read_frames(content: bytes | memoryview, start: int = 0) -> Iterator[tuple[Frame, int]]:
    """Yield each whole frame and the offset after it; a last one that is cut short is left.

    Raises:
        DamagedFrameError: a checksum is wrong, or a length is impossible.
    """
    at = start
    while at + _HEAD.size <= len(content):
        length, checksum = _HEAD.unpack_from(content, at)
        if not _PREFIX.size <= length <= MAX_BODY:
            raise DamagedFrameError(at, f"a frame of {length} bytes")
        end = at + _HEAD.size + length
        if end > len(content):
            return
        body = bytes(content[at + _HEAD.size : end])
        if zlib.crc32(body) != checksum:
            raise DamagedFrameError(at, "the checksum is wrong")
        kind, id_length = _PREFIX.unpack_from(body)
        payload = _PREFIX.size + id_length
        if payload > length:
            raise DamagedFrameError(at, "the id is longer than the frame")
        yield Frame(kind, body[_PREFIX.size : payload], body[payload:]), end
        at = end
