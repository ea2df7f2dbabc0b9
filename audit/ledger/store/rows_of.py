"""Gives the columns of each kind of document."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from audit.ledger.records.frames import FrameKind
from audit.ledger.store.columns import (
    MOST_LARGE,
    MOST_SMALL,
    Row,
    column_number,
    column_text,
    column_texts,
    optional_text,
)
from core.decision.decision import Action, Finding
from core.decision.document import DecisionDocument, decode_document, decode_sweep
from core.risk.look_back import decode_look_back
from core.weights.access import Access, decode_access
from core.weights.events import decode_activity, decode_finding, decode_gap
from core.weights.intake import decode_intake, decode_refused
from core.weights.pod_lifecycle import decode_change, decode_life


@dataclass(frozen=True, slots=True)
class Made:
    """What a document says of itself, for its row."""

    cluster: str
    id: str
    columns: Row
    """Those between the day and the document; texts are cut short."""
    has_time: bool = False
    """Whether the time stands before the day."""
    rules: list[Finding] = field(default_factory=list)

    def row(self, identity: bytes, day: int, payload: bytes) -> Row:
        """Give the row, without the position."""
        when = (int.from_bytes(identity[:6]), day) if self.has_time else (day,)
        return (self.cluster, identity, *when, *self.columns, payload)


def access_row(access: Access, identity: bytes, day: int, payload: bytes) -> Row:
    """Give the row of an access, without the position."""
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


def rule_rows(made: Made, identity: bytes, day: int) -> list[Row]:
    """Give the rules of a decision's findings, each once."""
    actions: dict[str, Action] = {}
    for finding in made.rules:
        rule = column_text(finding.rule)
        if actions.get(rule) is not Action.DENY:
            actions[rule] = finding.action
    return [(made.cluster, day, identity, rule, action.value) for rule, action in actions.items()]


def _made(cluster: str, document_id: str, *texts: str) -> Made:
    return Made(cluster, document_id, tuple(map(column_text, texts)))


def _decision(payload: bytes) -> Made:
    document = decode_document(payload)
    return Made(
        document.cluster,
        document.id,
        _decision_columns(document),
        has_time=True,
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


def _sweep(payload: bytes) -> Made:
    sweep = decode_sweep(payload)
    return _made(sweep.cluster, sweep.id)


def _look_back(payload: bytes) -> Made:
    back = decode_look_back(payload)
    return _made(back.cluster, back.id, back.subject)


def _access(payload: bytes) -> Made:
    access = decode_access(payload)
    return Made(access.cluster, access.id, access_row(access, b"", 0, b"")[3:-1])


def _activity(payload: bytes) -> Made:
    activity = decode_activity(payload)
    columns = (activity.topic.value, activity.account, activity.store, activity.who)
    return _made(activity.cluster, activity.id, *columns)


def _finding(payload: bytes) -> Made:
    finding = decode_finding(payload)
    columns = (finding.detection, finding.severity.value, finding.store, finding.who)
    return _made(finding.cluster, finding.id, *columns)


def _gap(payload: bytes) -> Made:
    gap = decode_gap(payload)
    return _made(gap.cluster, gap.id, gap.log, gap.subject)


def _life(payload: bytes) -> Made:
    life = decode_life(payload)
    account = life.service_account
    account = account if "/" in account else f"{life.namespace}/{account}"
    return _made(life.cluster, life.id, life.uid, account, life.node, life.event.value)


def _change(payload: bytes) -> Made:
    change = decode_change(payload)
    columns = (change.kind, change.namespace, change.name, change.event)
    return _made(change.cluster, change.id, *columns)


def _refused(payload: bytes) -> Made:
    record = decode_refused(payload)
    return _made(record.cluster, record.id, record.source)


def _intake(payload: bytes) -> Made:
    intake = decode_intake(payload)
    return _made(intake.cluster, intake.id, intake.source)


MAKERS: Final[Mapping[int, Callable[[bytes], Made]]] = {
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
}
"""Kinds that are taken from outside: what retention removed only the ledger itself records."""
