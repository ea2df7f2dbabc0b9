"""What `sallyport rollout` says of namespaces, and how that follows from what was read. Pure."""

import enum
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from admission.explain.changes import Change, changes_of
from cli import exits
from core.base.ids import uuid7_time
from core.decision.decision import Finding
from core.decision.document import DecisionDocument
from core.decision.document_outlook import (
    Outlook,
    document_requester,
    document_workload,
    enforcement_outlook,
)
from core.decision.namespaces import Mode
from core.people.subject import Subject

FORMAT: Final = 1

_MOST_ASKERS: Final = 10
_MOST_FINDINGS: Final = 20
_MOST_WORKLOADS: Final = 500
_LABELS: Final = ("oid:", "user:", "system:")


class Verdict(enum.Enum):
    """What is known of enforcing in a namespace."""

    ENFORCES = "enforces"
    READY = "ready"
    """Nothing that runs, and nothing that was asked for, would be refused."""
    WOULD_REFUSE = "would-refuse"
    UNKNOWN = "not-enough-evidence"
    LEFT_OUT = "left-out"
    """The webhooks are not asked about it, so its mode means nothing."""


class WouldRefuse(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """A workload that would be refused, or could not be judged, if its namespace enforced now."""

    workload: str
    """`Deployment/web`; what made it, of what runs; `Pod/notebook` of what nothing made."""
    outlook: Outlook
    pods: int
    """That run, and would not be made again: by the last sweep."""
    asked: int
    """How often it, or its Pods, were asked for in the period."""
    requesters: list[str]
    """Who asked: object ids or digests, at most 10, the latest first."""
    findings: list[Finding]
    """Of the latest decision; at most 20."""
    reason: str
    """Of what could not be judged: why."""
    last_seen: str
    """RFC 3339."""
    decision: str
    """The latest one; `sallyport explain` says more of it."""
    changes: list[Change]
    """What would change the answer: fields, another profile, a right."""


class Standing(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """What is known of one namespace."""

    namespace: str
    mode: str
    decided_by: str
    """`label`, `default`, `new` or `least`: what makes the mode what it is."""
    enforce_from: str
    """As it is announced; empty where it is not."""
    verdict: Verdict
    pods: int | None
    """That the last sweep judged; None where it does not say."""
    would_refuse: int
    """Workloads."""
    not_judged: int
    """Workloads."""
    workloads: list[WouldRefuse]
    """At most 500, those that run first."""
    evidence: list[str]
    """What is missing of the evidence, for people."""


class SweptLast(msgspec.Struct, frozen=True, rename="camel"):
    """The last finished sweep."""

    sweep: str
    finished: str
    pods: int


class Status(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """`sallyport rollout status -o json` (docs/reference/rollout-status.schema.json)."""

    format: int = FORMAT
    cluster: str
    since: str
    """RFC 3339: from when on it was looked at what was asked for."""
    sweep: SweptLast | None
    namespaces: list[Standing]
    """By name."""
    notes: list[str]
    """What could not be read, and what was taken instead."""


def workloads_of(
    swept: Iterable[DecisionDocument], asked: Iterable[DecisionDocument]
) -> list[WouldRefuse]:
    """Join decisions on one namespace by workload; those that run first, then the latest."""
    groups: dict[str, tuple[list[DecisionDocument], list[DecisionDocument]]] = {}
    for place, documents in enumerate((swept, asked)):
        for document in documents:
            if enforcement_outlook(document) is not Outlook.ADMITTED:
                groups.setdefault(document_workload(document), ([], []))[place].append(document)
    rows = [_row(name, *both) for name, both in groups.items()]
    rows.sort(key=lambda row: row.workload)
    rows.sort(key=lambda row: row.last_seen, reverse=True)
    return sorted(rows, key=lambda row: -row.pods)


def _row(
    workload: str, swept: Sequence[DecisionDocument], asked: Sequence[DecisionDocument]
) -> WouldRefuse:
    latest = max((*swept, *asked), key=lambda document: document.id)
    refused = [each for each in (*swept, *asked) if enforcement_outlook(each) is Outlook.REFUSED]
    shown = max(refused, key=lambda document: document.id) if refused else latest
    newest = sorted(asked, key=lambda document: document.id, reverse=True)
    askers = dict.fromkeys(as_label(document_requester(document)) for document in newest)
    return WouldRefuse(
        workload=workload,
        outlook=enforcement_outlook(shown),
        pods=len(swept),
        asked=len(asked),
        requesters=[each for each in askers if each][:_MOST_ASKERS],
        findings=shown.findings[:_MOST_FINDINGS],
        reason=shown.reason,
        last_seen=uuid7_time(latest.id),
        decision=shown.id,
        changes=changes_of(shown),
    )


def as_label(kept: str) -> str:
    """Return the label of who asked: where operators keep names, they stay in the ledger."""
    return kept if not kept or kept.startswith(_LABELS) else Subject(username=kept).label


def verdict_of(mode: Mode, rows: Sequence[WouldRefuse], evidence: Sequence[str]) -> Verdict:
    """Return the verdict: what is known to be refused counts, whatever else is not known.

    What could not be judged is no readiness.
    """
    if mode is Mode.ENFORCE:
        return Verdict.ENFORCES
    if any(row.outlook is Outlook.REFUSED for row in rows):
        return Verdict.WOULD_REFUSE
    return Verdict.UNKNOWN if rows or evidence else Verdict.READY


def standing_of(  # noqa: PLR0913  All that is said of a namespace.
    namespace: str,
    mode: Mode,
    rows: Sequence[WouldRefuse],
    evidence: Sequence[str],
    *,
    decided_by: str,
    enforce_from: str = "",
    pods: int | None = None,
    left_out: bool = False,
) -> Standing:
    """Put what is known of a namespace together."""
    refused = sum(row.outlook is Outlook.REFUSED for row in rows)
    unjudged = len(rows) - refused
    said = list(evidence)
    if unjudged:
        said.append(f"{unjudged} workload{'s' if unjudged > 1 else ''} could not be judged")
    return Standing(
        namespace=namespace,
        mode=mode.value,
        decided_by=decided_by,
        enforce_from=enforce_from,
        verdict=Verdict.LEFT_OUT if left_out else verdict_of(mode, rows, said),
        pods=pods,
        would_refuse=refused,
        not_judged=unjudged,
        workloads=list(rows[:_MOST_WORKLOADS]),
        evidence=[] if left_out or mode is Mode.ENFORCE else said,
    )


def exit_code(standings: Iterable[Standing]) -> int:
    """Return the exit code: what is not known weighs more than what would be refused."""
    verdicts = {each.verdict for each in standings}
    if Verdict.UNKNOWN in verdicts:
        return exits.NOT_JUDGED
    return exits.REFUSED if Verdict.WOULD_REFUSE in verdicts else exits.ADMITTED
