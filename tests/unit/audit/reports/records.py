"""A small ledger with something of everything a report tells of, in a real SQLite."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from audit.ledger.records.frames import Frame, FrameKind, decision_frame_id
from audit.ledger.store.store import Store
from audit.reports.builder import make_report
from audit.reports.ledger_state import read_ledger
from audit.reports.model import Report
from audit.reports.pages import ReportRequest
from audit.reports.periods import Period, month_period
from audit.reports.reader import read_tallies
from core.base.ids import stable_id
from core.base.times import DAY_MS, time_text
from core.decision.decision import Verdict
from core.decision.document import FORMAT as DECISION_FORMAT
from core.decision.document import Asked, DecisionDocument, encode_document
from core.weights.documents.access import (
    UNATTRIBUTED,
    Access,
    AccessedBy,
    Act,
    Attribution,
    Caller,
    Confidence,
    SignedBy,
    encode_access,
)
from core.weights.documents.events import (
    Activity,
    Finding,
    Log,
    LogGap,
    Severity,
    Topic,
    encode_event,
)
from core.weights.documents.intake import FORMAT, Intake, RefusedRecord, encode_intake
from core.weights.documents.object_change import ObjectChange, encode_change
from core.weights.documents.pod_life import LifeEvent, PodLife, encode_life

MAY = month_period(2026, 5)
CLUSTER = "production"
HUMAN = "oid:11111111-1111-4111-8111-111111111111"
READER = "22222222-2222-4222-8222-222222222222"
GRANT = "train/frontier@uid-1"
HOSTILE = "<script>alert(1)</script>\u202e=cmd|' /C calc'!A0\x1b[31m"

Encoded = tuple[FrameKind, str, bytes]


def at(day: int, hour: int = 9, minute: int = 0) -> int:
    """Return a moment of May 2026 in milliseconds; days count from 1."""
    return MAY.begin_ms + (day - 1) * DAY_MS + hour * 3_600_000 + minute * 60_000


def access(unix_ms: int, number: int = 0, **fields: Any) -> Encoded:
    """Return an access: of one Pod, under the grant, of 100 bytes, unless said otherwise."""
    pod = AccessedBy(
        pod="train/run-0", uid="pod-1", service_account="train/trainer", requester=HUMAN
    )
    exact = Attribution(confidence=Confidence.EXACT, why="one Pod", among=1, pods=[pod])
    given: dict[str, Any] = {
        "format": 1,
        "id": stable_id(unix_ms, "access", str(number)),
        "time": time_text(unix_ms // 1000),
        "cluster": CLUSTER,
        "account": "prod",
        "container": "weights",
        "blob": f"shard-{number}",
        "store": "frontier",
        "operation": "GetBlob",
        "act": Act.READ,
        "status": 200,
        "signed_by": SignedBy.OAUTH,
        "principal": READER,
        "address": "10.1.0.7",
        "caller": Caller.POD,
        "bytes_out": 100,
        "attribution": exact,
        "grant": GRANT,
    } | fields
    made = Access(**given)
    return FrameKind.ACCESS, made.id, encode_access(made)


def leaked(unix_ms: int, number: int = 0, **fields: Any) -> Encoded:
    """Return an access with a SAS from outside, which no grant covers."""
    return access(
        unix_ms,
        number,
        signed_by=SignedBy.SAS,
        principal="",
        token="ab" * 16,
        address="203.0.113.9",
        caller=Caller.PUBLIC,
        grant="",
        ungranted="signed with a SAS",
        attribution=UNATTRIBUTED,
        **fields,
    )


def intake(unix_ms: int, **fields: Any) -> Encoded:
    """Return a stretch that was taken in."""
    given: dict[str, Any] = {"source": "logs", "begin": "", "end": "9", "read": 0} | fields
    made = Intake(format=FORMAT, id=stable_id(unix_ms, "intake"), cluster=CLUSTER, **given)
    return FrameKind.INTAKE, made.id, encode_intake(made)


def refused(unix_ms: int, number: int = 0, reason: str = "is no JSON") -> Encoded:
    """Return a record in quarantine."""
    made = RefusedRecord(
        format=FORMAT,
        id=stable_id(unix_ms, "refused", str(number)),
        cluster=CLUSTER,
        source="logs",
        place=f"file:{number}",
        reason=reason,
        size=9,
        digest="sha256:00",
        record="secret stuff",
    )
    return FrameKind.REFUSED, made.id, encode_intake(made)


def gap(begin_ms: int, end_ms: int, log: str = "storage", subject: str = "prod read") -> Encoded:
    """Return a gap of a log."""
    made = LogGap(
        format=1,
        id=stable_id(end_ms, "gap", log, subject),
        cluster=CLUSTER,
        log=log,
        subject=subject,
        begin=time_text(begin_ms // 1000),
        end=time_text(end_ms // 1000),
        why="no blob",
    )
    return FrameKind.LOG_GAP, made.id, encode_event(made)


def change(unix_ms: int, event: str, kind: str = "AccessGrant", **fields: Any) -> Encoded:
    """Return a change of an object: of the grant, unless said otherwise."""
    given: dict[str, Any] = {"namespace": "train", "name": "frontier", "uid": "uid-1"} | fields
    made = ObjectChange(
        format=1,
        id=stable_id(unix_ms, "change", kind, event, given["name"]),
        time=time_text(unix_ms // 1000),
        cluster=CLUSTER,
        event=event,
        kind=kind,
        **given,
    )
    return FrameKind.CHANGE, made.id, encode_change(made)


def life(unix_ms: int, number: int, decision: str = "", **fields: Any) -> Encoded:
    """Return a Pod that was seen to begin."""
    made = PodLife(
        format=1,
        id=stable_id(unix_ms, "life", str(number)),
        time=time_text(unix_ms // 1000),
        cluster=CLUSTER,
        event=LifeEvent.SEEN,
        uid=f"pod-{number}",
        namespace="train",
        name=f"run-{number}",
        service_account="trainer",
        decision=decision,
        began=time_text(unix_ms // 1000),
        **fields,
    )
    return FrameKind.POD_LIFE, made.id, encode_life(made)


def decision(unix_ms: int, number: int, verdict: Verdict = Verdict.ALLOW, **ask: Any) -> Encoded:
    """Return a decision of the gate on the creation of a Pod."""
    asked = {"uid": "r", "operation": "CREATE", "kind": "Pod", "version": "v1"} | ask
    made = DecisionDocument(
        format=DECISION_FORMAT,
        id=stable_id(unix_ms, "decision", str(number)),
        time=time_text(unix_ms // 1000),
        cluster=CLUSTER,
        source="validate",
        request=Asked(namespace="train", name=f"run-{number}", object_uid=f"pod-{number}", **asked),
        requester=HUMAN,
        verdict=verdict,
        allowed=verdict is Verdict.ALLOW,
    )
    return FrameKind.DECISION, made.id, encode_document(made)


def finding(unix_ms: int, number: int = 0, **fields: Any) -> Encoded:
    """Return a finding about the leaked SAS."""
    given: dict[str, Any] = {
        "detection": "key-or-anonymous-read",
        "severity": Severity.HIGH,
        "store": "frontier",
        "who": "sas:abababab",
        "title": "Weights were read with a SAS",
        "detail": "100 bytes",
        "remedy": "Rotate the keys.",
        "techniques": ["AML.T0025", "T1537"],
        "addresses": ["203.0.113.9"],
    } | fields
    made = Finding(
        format=1,
        id=stable_id(unix_ms, "finding", str(number)),
        time=time_text(unix_ms // 1000),
        first=time_text(unix_ms // 1000),
        cluster=CLUSTER,
        **given,
    )
    return FrameKind.FINDING, made.id, encode_event(made)


def activity(unix_ms: int) -> Encoded:
    """Return the listing of an account's keys."""
    made = Activity(
        format=1,
        id=stable_id(unix_ms, "activity"),
        time=time_text(unix_ms // 1000),
        cluster=CLUSTER,
        log=Log.AZURE,
        topic=Topic.KEYS_LISTED,
        operation="listKeys",
        store="frontier",
        principal=READER,
        address="198.51.100.4",
    )
    return FrameKind.ACTIVITY, made.id, encode_event(made)


def something_of_everything() -> Iterator[Encoded]:
    """Yield a month that fills every part of a report."""
    spec = {
        "store": "frontier",
        "rights": ["read"],
        "serviceAccounts": ["trainer"],
        "people": [HUMAN],
        "reason": HOSTILE,
        "expiresAt": "2026-06-30T00:00:00Z",
    }
    yield change(at(1) - 9 * DAY_MS, "there", spec=spec)
    yield change(at(1) - 8 * DAY_MS, "approved", spec=spec, approvers=["oid:a", "oid:b"])
    yield change(at(3), "approved", "PolicyException", name="llama", spec={"reason": HOSTILE})
    yield change(at(4), "changed", "ContainerProfile", namespace="", name="gpu", by=[HUMAN])
    yield from (access(at(2, minute=number), number) for number in range(5))
    yield access(at(2, 11), 90, act=Act.LIST, operation="ListBlobs", bytes_out=7)
    yield access(at(2, 12), 91, status=403)
    yield access(at(2, 13), 92, store="")
    yield from (leaked(at(day, 2), day) for day in (10, 11))
    yield intake(at(31, 23), read=14, stored=10, known=1, refused=3, late=2, first=time_text(at(2)))
    yield from (refused(at(5, minute=number), number, HOSTILE) for number in range(3))
    yield gap(at(7, 1), at(7, 4))
    yield gap(at(7, 2), at(7, 5), subject="prod write")
    yield from (life(at(2, 8), number, "d" * (number < 2)) for number in range(3))
    yield from (decision(at(2, 7), number) for number in range(2))
    yield decision(at(2, 7), 7, Verdict.DENY)
    yield decision(at(2, 7), 8, Verdict.ERROR)
    yield from (finding(at(day, 3), day) for day in (10, 11))
    yield activity(at(9))


async def fill(store: Store, encoded: Iterator[Encoded]) -> None:
    """Put documents into a ledger."""
    frames = [Frame(kind, decision_frame_id(id_), payload) for kind, id_, payload in encoded]
    receipt = await store.deliver(CLUSTER, frames)
    assert receipt.quarantined == 0


async def report_of(
    path: Path, encoded: Iterator[Encoded], *, store: str = "", period: Period = MAY
) -> Report:
    """Return the report of a new ledger with these documents."""
    async with Store(f"sqlite:///{path}", keep_days=3650) as ledger:
        await fill(ledger, encoded)
        return await read(ledger, store=store, period=period)


async def read(
    ledger: Store,
    *,
    store: str = "",
    period: Period = MAY,
    people: dict[str, str] | None = None,
) -> Report:
    """Return the report of a ledger."""
    state = await read_ledger(ledger)
    wanted = ReportRequest(period, store, None, state.size)
    tallies = await read_tallies(ledger, wanted, lambda _what, _count: None)
    return make_report(tallies, period, state, store=store, people=people)
