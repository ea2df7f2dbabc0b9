"""A notice: one thing of the ledger that somebody should hear of, as every sink tells it. Pure.

It has the names that `findings show` prints (ADR 9), and texts made harmless and short.
"""

import enum
from collections.abc import Sequence
from typing import Final

import msgspec

from audit.ledger.records.frames import FrameKind
from audit.reports.display_text import report_line
from core.base.ids import stable_id
from core.base.safe_text import cut_after, safe_line
from core.base.times import milli_text
from core.weights.documents.events import Finding, LogGap, Severity

FORMAT: Final = 1
"""Version of the notice, as receivers see it."""

MOST_NAMES: Final = 20
"""Of Pods, humans, addresses and techniques."""

_MOST_DETAIL: Final = 2000
_OF_GAPS: Final = "log-gap"
_OF_STORAGE: Final = "storage"


class NoticeEvent(enum.Enum):
    """What a notice is of; a sink says which it takes."""

    FINDING = "finding"
    """A detection found something."""
    GAP = "gap"
    """A log says nothing of a stretch of time."""
    APPROVAL_WAITING = "approval-waiting"
    """A grant, an exception or a BreakGlass that two people have not approved."""
    ENDS_SOON = "ends-soon"
    """A grant or an exception that counts now, and ends within days; an opening of egress."""
    ENDED_IN_USE = "ended-in-use"
    """An EgressAllowlist that has ended while Pods that it was for still run."""
    TEST = "test"
    """Somebody tries a sink: nothing happened."""


class Notice(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What a sink is told. The same thing always has the same id: receivers drop doubles by it."""

    format: int = FORMAT
    id: str
    """UUIDv7 of `time`."""
    event: NoticeEvent
    time: str
    """RFC 3339: when it happened."""
    cluster: str
    severity: Severity
    title: str
    """One line, under 120 characters."""
    detail: str
    """What was seen, in one line of at most 2,000 characters."""
    remedy: str
    """What to do."""
    detection: str = ""
    """Of a finding: which detection."""
    first: str = ""
    """RFC 3339: of the first event that it rests on."""
    events: int = 0
    """Events that it rested on when it was found."""
    bytes: int = 0
    store: str = ""
    """The WeightStore; empty where it is about none, or about a whole account."""
    account: str = ""
    container: str = ""
    who: str = ""
    """A pseudonym or an object id, never a person's name."""
    requesters: list[str] = []
    pods: list[str] = []
    addresses: list[str] = []
    techniques: list[str] = []


ENCODER: Final = msgspec.json.Encoder(order="deterministic")


def notice_of_finding(finding: Finding) -> Notice:
    """Return the notice of a finding."""
    return Notice(
        id=finding.id,
        event=NoticeEvent.GAP if finding.detection == _OF_GAPS else NoticeEvent.FINDING,
        time=finding.time,
        cluster=finding.cluster,
        severity=finding.severity,
        title=report_line(finding.title),
        detail=_paragraph(finding.detail),
        remedy=_paragraph(finding.remedy),
        detection=finding.detection,
        first=finding.first,
        events=finding.events,
        bytes=finding.bytes,
        store=finding.store,
        account=report_line(finding.account),
        container=report_line(finding.container),
        who=report_line(finding.who),
        requesters=_names(finding.requesters),
        pods=_names(finding.pods),
        addresses=_names(finding.addresses),
        techniques=_names(finding.techniques),
    )


def notice_of_gap(gap: LogGap) -> Notice:
    """Return the notice of a gap that no detection judges: nobody reads that cluster's logs."""
    return Notice(
        id=gap.id,
        event=NoticeEvent.GAP,
        time=gap.end,
        cluster=gap.cluster,
        severity=Severity.MEDIUM if gap.log == _OF_STORAGE else Severity.LOW,
        title=report_line(f"The log {gap.log} has a gap ({gap.subject})")[:119],
        detail=_paragraph(f"From {gap.begin} to {gap.end}: {gap.why}."),
        remedy="Look at the source of the log; treat the stretch as unknown.",
        first=gap.begin,
        account=report_line(gap.subject.split("/", 1)[0]) if gap.log == _OF_STORAGE else "",
    )


def notice_of_test(cluster: str, sink: str, now_ms: int) -> Notice:
    """Return the notice by which somebody tries a sink: marked, and of the least severity."""
    return Notice(
        id=stable_id(now_ms, "notification-test", cluster, sink),
        event=NoticeEvent.TEST,
        time=milli_text(now_ms),
        cluster=cluster,
        severity=Severity.LOW,
        title=f"TEST: the sink {sink} works",
        detail="Somebody tries this sink with `sallyport notifications test`. Nothing happened.",
        remedy="Nothing is to be done.",
    )


DUE_EVENTS: Final = frozenset(
    {NoticeEvent.APPROVAL_WAITING, NoticeEvent.ENDS_SOON, NoticeEvent.ENDED_IN_USE}
)
"""Of what people must still do: they come with time, and not by an entry of the log."""

NOTICE_KINDS: Final = frozenset({FrameKind.FINDING, FrameKind.LOG_GAP})
"""What of the ledger becomes notices."""


def _names(words: Sequence[str]) -> list[str]:
    return [report_line(word) for word in words[:MOST_NAMES]]


def _paragraph(text: str) -> str:
    return safe_line(cut_after(text, _MOST_DETAIL))
