"""Makes rows of frames; what cannot be read becomes a row of the quarantine, with the reason."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from audit.ledger.frames import Frame, FrameKind
from core.decision import Action
from core.document import DecisionDocument, decode_document, decode_sweep, projection_digest
from core.look_back import decode_look_back

DAY_MS: Final = 86_400_000

MOST_AHEAD_DAYS: Final = 1
"""Days that an id may be ahead of this machine's clock: each day gets a partition."""

SPARE_DAYS: Final = 1
"""Days that an id may be older than what is kept, for the same reason."""

MOST_TEXT: Final = 512
"""Characters of a text in a column. An entry of a PostgreSQL index holds 2704 bytes at most
(PostgreSQL 15, nbtree: BTMaxItemSize), and a character is at most 4."""

_UUID_BYTES: Final = 16
_UUID_VERSION: Final = 7


@dataclass(frozen=True)
class Batch:
    """Rows for each table, in the order of its columns; decisions in the order of their ids."""

    decisions: list[tuple[Any, ...]] = field(default_factory=list)
    rules: list[tuple[Any, ...]] = field(default_factory=list)
    projections: list[tuple[Any, ...]] = field(default_factory=list)
    sweeps: list[tuple[Any, ...]] = field(default_factory=list)
    look_backs: list[tuple[Any, ...]] = field(default_factory=list)
    quarantine: list[tuple[Any, ...]] = field(default_factory=list)

    @property
    def days(self) -> set[int]:
        """The days of the decisions."""
        return {row[3] for row in self.decisions}


def make_batch(cluster: str, frames: Sequence[Frame], now_ms: int, keep_days: int) -> Batch:
    """Make the rows of frames that came from `cluster` at `now_ms` (since the epoch). Pure.

    An id more than a day older than the `keep_days` that are kept goes to the quarantine.
    """
    batch = Batch()
    today = now_ms // DAY_MS
    days = range(today - keep_days - SPARE_DAYS, today + MOST_AHEAD_DAYS + 1)
    for frame in sorted(frames, key=lambda frame: frame.id):
        try:
            _add(batch, cluster, frame, today, days)
        except (ValueError, RecursionError) as error:  # The latter is of JSON too deep.
            digest = hashlib.sha256(bytes([frame.kind]) + frame.id + b"\0" + frame.payload)
            batch.quarantine.append(
                (
                    cluster,
                    digest.digest(),
                    today,
                    frame.kind,
                    frame.id,
                    frame.payload,
                    column_text(str(error)),
                )
            )
    return batch


def day_of(identity: bytes) -> int:
    """Give the day (since 1970-01-01, UTC) that a UUIDv7 holds."""
    return int.from_bytes(identity[:6]) // DAY_MS


def column_text(text: str) -> str:
    """Give the text as a column holds it: cut short, and without NUL, which PostgreSQL refuses."""
    return text if len(text) <= MOST_TEXT and "\0" not in text else _shorten(text)


def _shorten(text: str) -> str:
    return text[:MOST_TEXT].replace("\0", "\ufffd")


def _add(batch: Batch, cluster: str, frame: Frame, today: int, days: range) -> None:
    if frame.kind == FrameKind.DECISION:
        document = decode_document(frame.payload)
        day = _day(frame, document.id, days)
        _demand_cluster(cluster, document.cluster)
        batch.decisions.append(_decision(frame, document, day))
        batch.rules.extend(_rules(frame, document, day))
    elif frame.kind == FrameKind.PROJECTION:
        if projection_digest(frame.payload) != f"sha256:{frame.id.hex()}":
            raise ValueError("the frame's id is not the SHA-256 of the projection")
        batch.projections.append((cluster, frame.id, today, frame.payload))
    elif frame.kind == FrameKind.SWEEP:
        sweep = decode_sweep(frame.payload)
        day = _day(frame, sweep.id, days)
        _demand_cluster(cluster, sweep.cluster)
        batch.sweeps.append((cluster, frame.id, day, frame.payload))
    elif frame.kind == FrameKind.LOOK_BACK:
        back = decode_look_back(frame.payload)
        day = _day(frame, back.id, days)
        _demand_cluster(cluster, back.cluster)
        subject = column_text(back.subject)
        batch.look_backs.append((cluster, frame.id, day, subject, frame.payload))
    else:
        raise ValueError(f"this release knows no frame of kind {frame.kind}")


def _day(frame: Frame, document_id: str, days: range) -> int:
    """Give the day of the frame's id, if it is one of `days`, which can be kept."""
    if len(frame.id) != _UUID_BYTES or frame.id[6] >> 4 != _UUID_VERSION:
        raise ValueError("the frame's id is no UUID of version 7")
    text = frame.id.hex()
    if document_id != f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}":
        raise ValueError("the frame's id is not the document's")
    day = day_of(frame.id)
    if day >= days.stop:
        raise ValueError("the time of its id is more than a day ahead: check the clocks")
    if day < days.start:
        raise ValueError("the time of its id is before the days that are kept: check the clocks")
    return day


def _demand_cluster(sender: str, named: str) -> None:
    if named != sender:
        raise ValueError("the document is of another cluster than its sender")


def _decision(frame: Frame, document: DecisionDocument, day: int) -> tuple[Any, ...]:
    asked = document.request
    return (
        document.cluster,
        frame.id,
        int.from_bytes(frame.id[:6]),
        day,
        document.source,
        document.verdict.value,
        document.allowed,
        column_text(asked.namespace),
        column_text(asked.kind),
        column_text(asked.name),
        column_text(asked.operation),
        column_text(document.requester),
        _optional(document.profile),
        column_text(document.mode),
        _optional(document.error_kind),
        column_text(asked.object_uid),
        column_text(asked.uid),
        asked.dry_run,
        _optional(document.sandbox),
        column_text(document.revisions.policy),
        column_text(document.revisions.profiles),
        column_text(document.projection),
        frame.payload,
    )


def _optional(text: str | None) -> str | None:
    return None if text is None else column_text(text)


def _rules(frame: Frame, document: DecisionDocument, day: int) -> list[tuple[Any, ...]]:
    actions: dict[str, Action] = {}
    for finding in document.findings:
        rule = column_text(finding.rule)
        if actions.get(rule) is not Action.DENY:
            actions[rule] = finding.action
    return [
        (document.cluster, day, frame.id, rule, action.value) for rule, action in actions.items()
    ]
