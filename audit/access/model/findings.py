"""Makes findings of what detections see, with texts for people. Pure."""

from collections.abc import Sequence
from typing import Final

from audit.access.model.detection import GIB, Detection, Event, EventContext
from audit.access.model.sightings import is_news
from core.base.ids import stable_id
from core.base.safe_text import shorten
from core.base.times import day_text, milli_text
from core.weights.documents.access import Access
from core.weights.documents.events import FORMAT, Activity, Finding, Severity

LONGEST_TITLE: Final = 119

_MOST_PODS: Final = 8
_ORDER: Final = {each: number for number, each in enumerate(Severity)}
_UNITS: Final = (("TiB", 1 << 40), ("GiB", GIB), ("MiB", 1 << 20), ("KiB", 1 << 10))


def moment_text(at: float) -> str:
    """Return Unix seconds as RFC 3339 with milliseconds: findings keep the time of an access."""
    return milli_text(round(at * 1000))


def size_text(amount: float) -> str:
    """Return bytes as people read them.

    As findings are stored with it, it stays; reports, which know `B` and `PiB`, have another.
    """
    for unit, size in _UNITS:
        if amount >= size:
            return f"{amount / size:.1f} {unit}"
    return f"{amount:.0f} bytes"


def count_text(amount: float) -> str:
    """Return a number of things."""
    return f"{amount:.0f}"


def requests_text(count: int) -> str:
    """Return a number of requests."""
    return f"{count} request" if count == 1 else f"{count} requests"


def make_finding(  # noqa: PLR0913, PLR0917  fields of a document
    detection: Detection,
    event: Event,
    known: EventContext,
    key: Sequence[str],
    severity: Severity,
    title: str,
    detail: str,
    *,
    first: float = 0.0,
    events: int = 1,
    amount: float = 0.0,
    addresses: Sequence[str] = (),
    evidence: Sequence[str] = (),
    remedy: str = "",
    aspect: str = "",
    folder: str = "",
) -> Finding:
    """Return a finding that an event completes; `key` tells it from others of its detection.

    `first` is when the first event was that it rests on, 0 for the event itself. `aspect` and
    `folder` say which accesses it is about, where its detection has several kinds of findings.
    """
    where = _where(event)
    pods = event.attribution.pods[:_MOST_PODS] if isinstance(event, Access) else []
    seen = [*addresses, *([where[3]] if where[3] and where[3] not in addresses else [])]
    return Finding(
        format=FORMAT,
        id=stable_id(round(known.at * 1000), "finding", detection.id, *key),
        detection=detection.id,
        aspect=aspect,
        time=moment_text(known.at),
        first=moment_text(first or known.at),
        cluster=known.surroundings.cluster,
        severity=severity,
        store=where[0],
        account=where[1],
        container=where[2],
        folder=folder,
        who=where[4],
        title=shorten(title, LONGEST_TITLE),
        detail=detail,
        remedy=remedy or detection.remedy,
        techniques=list(detection.techniques),
        evidence=[*(one for one in evidence if one != event.id), event.id],
        events=events,
        bytes=int(amount),
        addresses=seen,
        pods=[one.pod for one in pods],
        requesters=sorted({one.requester for one in pods if one.requester}),
        late=known.late,
    )


def graver_key(
    raised: dict[str, int], name: str, severity: Severity, *, least: Severity
) -> tuple[str, str] | None:
    """Return the key of a finding that was not raised yet, or only less gravely; and note it.

    None where it was. `least` is the least severity that the detection gives such findings: what
    it remembers is counted from there, and is stored.
    """
    level = 1 + _ORDER[severity] - _ORDER[least]
    if level < 1:
        message = f"a finding of severity {severity.value} is below {least.value}, the least one"
        raise ValueError(message)
    if not is_news(raised, name, level):
        return None
    return name, severity.value


def make_failure_finding(
    detection: Detection, error: str, event: Event, known: EventContext
) -> Finding:
    """Return the finding that a detection itself does not work."""
    return make_finding(
        detection,
        event,
        known,
        ("failed", str(known.day)),
        Severity.HIGH,
        f"The detection {detection.id} does not work ({error})",
        f"It failed on an event of {day_text(known.at)} with {error}: until it is mended, what it "
        "looks for may go unseen. The others are not touched. This is said once a day.",
        remedy="Look for the detection's name in the auditor's log, and report the defect.",
    )


def is_failure(finding: Finding) -> bool:
    """Return whether a finding is that its detection does not work."""
    return finding.title.startswith(f"The detection {finding.detection} does not work")


def _where(event: Event) -> tuple[str, str, str, str, str]:
    """Return store, account, container, address and who."""
    if isinstance(event, Access | Activity):
        return event.store, event.account, event.container, event.address, event.who
    return "", "", "", "", ""
