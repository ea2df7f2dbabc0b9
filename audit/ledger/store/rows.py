"""Makes rows of what is delivered; what cannot be read becomes a row of the quarantine."""

import hashlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Final

from audit.ledger.records.frames import Frame, FrameKind
from audit.ledger.store.columns import (
    MOST_LARGE,
    MOST_SMALL,
    Row,
    column_number,
    column_text,
    column_texts,
    day_of,
    is_uuid7,
    optional_text,
    uuid_bytes,
    uuid_text,
)
from audit.ledger.store.tables import STANDING, decisions
from core.base.times import DAY_MS, is_at
from core.decision.decision import Action, Finding
from core.decision.document import DecisionDocument, decode_document, projection_digest
from core.decision.refusal_aggregate import decode_aggregate
from core.decision.sweep_document import decode_sweep
from core.risk.look_back import decode_look_back
from core.weights.documents.access import Access, contradicts, decode_access, encode_access
from core.weights.documents.events import decode_activity, decode_finding, decode_gap
from core.weights.documents.intake import decode_intake, decode_refused
from core.weights.documents.object_change import decode_change
from core.weights.documents.pod_life import decode_life

MOST_AHEAD_DAYS: Final = 1
"""Days that an id may be ahead of this machine's clock: each day gets a partition."""

SPARE_DAYS: Final = 1
"""Days that an id may be older than what is kept, for the same reason."""

OTHERWISE: Final = "the ledger has another record of this id, which says otherwise: one is forged"

_BY_ID: Final = attrgetter("id")
_SOURCE: Final = decisions.c.keys().index("source")
_ALLOWED: Final = decisions.c.keys().index("allowed")


@dataclass(frozen=True, slots=True)
class DocumentColumns:
    """What a document says of itself, for its row."""

    cluster: str
    id: str
    columns: Row
    """Those between the day and the document; texts are cut short."""
    has_time: bool = False
    """Whether the time stands before the day."""
    time: str | None = None
    """RFC 3339; None where the document has none."""
    rules: list[Finding] = field(default_factory=list)

    def row(self, identity: bytes, day: int, payload: bytes) -> Row:
        """Return the row, without the position."""
        when = (int.from_bytes(identity[:6]), day) if self.has_time else (day,)
        return (self.cluster, identity, *when, *self.columns, payload)


def access_row(access: Access, identity: bytes, day: int, payload: bytes) -> Row:
    """Return the row of an access, without the position."""
    status, sent = access.status, access.bytes_out
    return (
        access.cluster,
        identity,
        day,
        *column_texts(
            access.account, access.container, access.store, access.who, access.application
        ),
        access.act._value_,  # As `value`, which is a function call for each of so many rows.
        access.signed_by._value_,
        access.attribution.confidence._value_,
        status if 0 <= status <= MOST_SMALL else column_number(status, MOST_SMALL),
        sent if 0 <= sent <= MOST_LARGE else column_number(sent, MOST_LARGE),
        payload,
    )


def is_refusal(row: Row) -> bool:
    """Return whether a decision's row is of one that the gate refused; not of what runs."""
    return not row[_ALLOWED] and row[_SOURCE] != "sweep"


def rule_rows(made: DocumentColumns, identity: bytes, day: int) -> list[Row]:
    """Return the rules of a decision's findings, each once."""
    actions: dict[str, Action] = {}
    for finding in made.rules:
        rule = column_text(finding.rule)
        if actions.get(rule) is not Action.DENY:
            actions[rule] = finding.action
    return [(made.cluster, day, identity, rule, action.value) for rule, action in actions.items()]


def _made(cluster: str, document_id: str, *texts: str, time: str | None = None) -> DocumentColumns:
    return DocumentColumns(cluster, document_id, tuple(map(column_text, texts)), time=time)


def _decision(payload: bytes) -> DocumentColumns:
    document = decode_document(payload)
    return DocumentColumns(
        document.cluster,
        document.id,
        _decision_columns(document),
        has_time=True,
        time=document.time,
        rules=document.findings,
    )


def _decision_columns(document: DecisionDocument) -> Row:
    asked = document.request
    return (
        document.source,
        document.verdict.value,
        document.allowed,
        column_text(asked.namespace),
        column_text(asked.kind),
        column_text(asked.name),
        column_text(asked.operation),
        column_text(document.requester),
        optional_text(document.profile),
        column_text(document.mode),
        optional_text(document.error_kind),
        column_text(asked.object_uid),
        column_text(asked.uid),
        asked.dry_run,
        optional_text(document.sandbox),
        column_text(document.revisions.policy),
        column_text(document.revisions.profiles),
        column_text(document.projection),
    )


def _sweep(payload: bytes) -> DocumentColumns:
    sweep = decode_sweep(payload)
    return _made(sweep.cluster, sweep.id)


def _look_back(payload: bytes) -> DocumentColumns:
    back = decode_look_back(payload)
    return _made(back.cluster, back.id, back.subject)


def _access(payload: bytes) -> DocumentColumns:
    access = decode_access(payload)
    columns = access_row(access, b"", 0, b"")[3:-1]
    return DocumentColumns(access.cluster, access.id, columns, time=access.time)


def _activity(payload: bytes) -> DocumentColumns:
    activity = decode_activity(payload)
    columns = (activity.topic.value, activity.account, activity.store, activity.who)
    return _made(activity.cluster, activity.id, *columns, time=activity.time)


def _finding(payload: bytes) -> DocumentColumns:
    finding = decode_finding(payload)
    columns = (finding.detection, finding.severity.value, finding.store, finding.who)
    return _made(finding.cluster, finding.id, *columns, time=finding.time)


def _gap(payload: bytes) -> DocumentColumns:
    gap = decode_gap(payload)
    return _made(gap.cluster, gap.id, gap.log, gap.subject)


def _life(payload: bytes) -> DocumentColumns:
    life = decode_life(payload)
    account = life.service_account
    account = account if "/" in account else f"{life.namespace}/{account}"
    columns = (life.uid, account, life.node, life.event.value)
    return _made(life.cluster, life.id, *columns, time=life.time)


def _change(payload: bytes) -> DocumentColumns:
    change = decode_change(payload)
    columns = (change.kind, change.namespace, change.name, change.event)
    return _made(change.cluster, change.id, *columns, time=change.time)


def _aggregate(payload: bytes) -> DocumentColumns:
    aggregate = decode_aggregate(payload)
    texts = (aggregate.namespace, aggregate.requester, aggregate.verdict)
    columns = (*column_texts(*texts), column_number(aggregate.count, MOST_LARGE))
    return DocumentColumns(aggregate.cluster, aggregate.id, columns, time=aggregate.time)


def _refused(payload: bytes) -> DocumentColumns:
    record = decode_refused(payload)
    return _made(record.cluster, record.id, record.source)


def _intake(payload: bytes) -> DocumentColumns:
    intake = decode_intake(payload)
    return _made(intake.cluster, intake.id, intake.source)


MAKERS: Final[Mapping[int, Callable[[bytes], DocumentColumns]]] = {
    FrameKind.DECISION: _decision,
    FrameKind.SWEEP: _sweep,
    FrameKind.LOOK_BACK: _look_back,
    FrameKind.ACCESS: _access,
    FrameKind.ACTIVITY: _activity,
    FrameKind.FINDING: _finding,
    FrameKind.LOG_GAP: _gap,
    FrameKind.POD_LIFE: _life,
    FrameKind.CHANGE: _change,
    FrameKind.REFUSED: _refused,
    FrameKind.INTAKE: _intake,
    FrameKind.AGGREGATE: _aggregate,
}
"""Kinds that are taken from outside: what retention removed only the ledger itself records."""


@dataclass(frozen=True)
class RowBatch:
    """Rows for each table, in the order of its columns, but for the position, which comes last."""

    records: dict[FrameKind, list[Row]] = field(default_factory=dict)
    """Of the kinds that the log holds: each id once, in their order."""
    days: dict[FrameKind, set[int]] = field(default_factory=dict)
    """When they are forgotten."""
    rules: dict[bytes, list[Row]] = field(default_factory=dict)
    """By the id of their decision."""
    projections: list[Row] = field(default_factory=list)
    quarantine: list[Row] = field(default_factory=list)
    accesses: dict[bytes, Access] = field(default_factory=dict)
    """Those whose rows were made of them, by their ids."""
    today: int = 0
    """Days since the epoch."""


def quarantine_row(cluster: str, today: int, frame: Frame, reason: str) -> Row:
    """Return a row of the quarantine."""
    digest = hashlib.sha256(bytes([frame.kind]) + frame.id + b"\0" + frame.payload).digest()
    return (cluster, digest, today, frame.kind, frame.id, frame.payload, column_text(reason))


def make_batch(
    cluster: str,
    frames: Sequence[Frame],
    now_ms: int,
    keep_days: int,
    accesses: Sequence[Access] = (),
) -> RowBatch:
    """Make the rows of what came from `cluster` at `now_ms` (since the epoch). Pure.

    An id more than a day older than the `keep_days` that are kept goes to the quarantine, but for
    documents of what still stands (STANDING): they are kept as long as if they were of that day.
    """
    making = _BatchBuilder(cluster, now_ms // DAY_MS, keep_days)
    making.add_accesses(sorted(accesses, key=_BY_ID))
    for frame in sorted(frames, key=lambda frame: frame.id):
        try:
            making.add_frame(frame)
        except (ValueError, RecursionError) as error:  # The latter is of JSON too deep.
            making.put_apart(frame, str(error))
    return making.batch


class _BatchBuilder:
    """Rows that are being made."""

    def __init__(self, cluster: str, today: int, keep_days: int) -> None:
        self.batch = RowBatch(today=today)
        self._cluster = cluster
        self._today = today
        self._days = range(today - keep_days - SPARE_DAYS, today + MOST_AHEAD_DAYS + 1)
        self._seen: dict[tuple[int, bytes], bytes] = {}
        """The documents that came, by kind and id."""
        self._accesses: Collection[bytes] = ()
        """Ids of those that were not frames."""

    def add_accesses(self, accesses: Sequence[Access]) -> None:
        """Add the rows of accesses, without reading their documents again."""
        known, rows, days = self.batch.accesses, [], set[int]()
        for access in accesses:
            payload = encode_access(access)
            identity = b""
            try:
                identity = uuid_bytes(access.id)
                day = self._day(FrameKind.ACCESS, identity)
                self._demand_cluster(access.cluster)
            except ValueError as error:
                frame_id = (identity or access.id.encode())[:255]
                self.put_apart(Frame(FrameKind.ACCESS, frame_id, payload), str(error))
                continue
            if identity not in known:
                known[identity] = access
                rows.append(access_row(access, identity, day, payload))
                days.add(day)
            elif contradicts(known[identity], access):
                self.put_apart(Frame(FrameKind.ACCESS, identity, payload), OTHERWISE)
        if rows:
            self.batch.records[FrameKind.ACCESS] = rows
            self.batch.days[FrameKind.ACCESS] = days
            self._accesses = known.keys()

    def add_frame(self, frame: Frame) -> None:
        """Add the rows of a frame.

        Raises:
            ValueError: it cannot be read, or must not be kept.
        """
        if frame.kind == FrameKind.PROJECTION:
            if projection_digest(frame.payload) != f"sha256:{frame.id.hex()}":
                raise ValueError("the frame's id is not the SHA-256 of the projection")
            self.batch.projections.append((self._cluster, frame.id, self._today, frame.payload))
            return
        maker = MAKERS.get(frame.kind)
        if maker is None:
            message = f"this release knows no frame of kind {frame.kind}"
            raise ValueError(message)
        made = maker(frame.payload)
        kind = FrameKind(frame.kind)
        day = self._day(kind, frame.id)
        if uuid_text(frame.id) != made.id:
            raise ValueError("the frame's id is not the document's")
        if made.time is not None and not is_at(made.time, int.from_bytes(frame.id[:6])):
            raise ValueError("the document's time is not the time of its id")
        self._demand_cluster(made.cluster)
        before = self._seen.get((kind, frame.id), frame.payload)
        if kind is FrameKind.DECISION and before != frame.payload:
            raise ValueError(OTHERWISE)
        if self._take(kind, made.row(frame.id, day, frame.payload), day) and made.rules:
            self.batch.rules[frame.id] = rule_rows(made, frame.id, day)

    def put_apart(self, frame: Frame, reason: str) -> None:
        """Add a row of the quarantine."""
        self.batch.quarantine.append(quarantine_row(self._cluster, self._today, frame, reason))

    def _take(self, kind: FrameKind, row: Row, day: int) -> bool:
        """Take a row, unless its id came already; say whether it is taken."""
        came = kind is FrameKind.ACCESS and row[1] in self._accesses
        if came or (kind, row[1]) in self._seen:
            return False
        self._seen[kind, row[1]] = row[-1]
        self.batch.records.setdefault(kind, []).append(row)
        self.batch.days.setdefault(kind, set()).add(day)
        return True

    def _day(self, kind: FrameKind, identity: bytes) -> int:
        """Return the day by which a record is forgotten, if its id's can be kept."""
        if not is_uuid7(identity):
            raise ValueError("the frame's id is no UUID of version 7")
        day = day_of(identity)
        if day >= self._days.stop:
            raise ValueError("the time of its id is more than a day ahead: check the clocks")
        if day < self._days.start:
            if kind in STANDING:
                return self._today
            raise ValueError(
                "the time of its id is before the days that are kept: check the clocks"
            )
        return day

    def _demand_cluster(self, named: str) -> None:
        if named != self._cluster:
            raise ValueError("the document is of another cluster than its sender")
