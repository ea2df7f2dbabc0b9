"""What a report says, as one value with its rows: all its forms are made of it alone.

It holds sums and bounded lists, whatever the ledger held: where a list was cut, it says how many
more there are. It names nobody: object ids and `Subject.label`s, unless the operator gave names.
"""

from typing import Final

import msgspec

from audit.access.progress import FindingProgress, SignedOff
from audit.reports.completeness import Completeness

MOST_ROWS: Final = 200
"""Rows of one list of a report; the rest is counted."""

MOST_SHOWN: Final = 5
"""Names in one cell: Pods, humans, approvers."""


class _Part(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Frozen, camelCase; everything is said, defaults too, so that the digest has one form."""


class AccessSums(_Part, frozen=True, kw_only=True):
    """What a number of accesses come to."""

    reads: int = 0
    lists: int = 0
    writes: int = 0
    deletes: int = 0
    others: int = 0
    failed: int = 0
    """Refused or failed by storage; they are in no other number."""
    bytes_out: int = 0
    bytes_in: int = 0

    @property
    def accesses(self) -> int:
        """All of them."""
        return self.reads + self.lists + self.writes + self.deletes + self.others + self.failed


class StoreRow(_Part, frozen=True, kw_only=True):
    """A WeightStore, and what was done with it."""

    store: str
    account: str
    principals: int
    sums: AccessSums
    ungranted: int
    """Accesses that succeeded and that no live, twice-approved grant covered."""
    unattributed: int
    last: str
    """RFC 3339: the last access in the period."""


class PrincipalRow(_Part, frozen=True, kw_only=True):
    """A principal, and what it did with one store."""

    who: str
    store: str
    signed_by: list[str]
    sums: AccessSums
    first: str
    last: str
    days: int
    """On how many days."""
    callers: list[str]
    """Where its addresses lie: pod, node, unknown-private, public …"""
    addresses: list[str]
    more_addresses: int
    grants: list[str]
    """`namespace/name@uid` of those that covered it."""
    approvers: list[str]
    """Of those grants."""
    humans: list[str]
    """Requesters of the Pods, by the decisions that admitted them."""
    service_accounts: list[str]
    """`namespace/name` of those Pods."""
    pods: int
    """Distinct Pods it was attributed to; at least so many."""
    confidence: dict[str, int]
    """Accesses by how sure their attribution is."""
    ungranted: int


class ReachRow(_Part, frozen=True, kw_only=True):
    """Who reached what, through which Pods."""

    human: str
    service_account: str
    """`namespace/name`; empty where no Pod is known."""
    who: str
    store: str
    confidence: str
    """The surest of its accesses."""
    accesses: int
    bytes: int
    images: list[str]
    decisions: list[str]
    """Ids of admission decisions, the first ones."""


class UnattributedRow(_Part, frozen=True, kw_only=True):
    """Accesses that no Pod answers for, by the reason."""

    who: str
    store: str
    why: str
    accesses: int
    granted: int
    """Of these, covered by a grant to the person who read by hand."""
    bytes: int
    first: str
    last: str
    addresses: list[str]


class FindingRow(_Part, frozen=True, kw_only=True):
    """A finding, whole but for what a report does not show."""

    id: str
    detection: str
    severity: str
    time: str
    """When it was found."""
    first: str
    last: str
    store: str
    who: str
    title: str
    detail: str
    """What was seen when it was found."""
    remedy: str
    techniques: list[str]
    counted: bool
    """Whether `first`, `last`, `events`, `bytes` and `evidence` are those of all accesses of the
    period that it is about; else they are what it told when it was found."""
    events: int
    bytes: int
    addresses: list[str]
    pods: list[str]
    requesters: list[str]
    late: bool
    evidence: list[str]
    """Ids of accesses and activities, the first hundred."""
    more_evidence: int
    progress: FindingProgress
    """What people said of it since, up to the ledger's size."""


class CaseRow(_Part, frozen=True, kw_only=True):
    """Findings that tell one story."""

    id: str
    severity: str
    title: str
    summary: str
    first: str
    last: str
    stores: list[str]
    who: list[str]
    requesters: list[str]
    addresses: list[str]
    techniques: list[str]
    counted: bool
    """Whether `events` and `bytes` are those of all accesses of the period that its findings are
    about, each once; else what its findings told."""
    events: int
    bytes: int
    findings: int
    joined_by: list[str]
    """What makes it one story, for a person."""
    timeline: list["CaseMoment"]
    more: int
    """Findings that the timeline leaves out."""
    open_findings: int
    """Of its findings, those that nobody has closed."""


class CaseMoment(_Part, frozen=True, kw_only=True):
    """One entry of a case's timeline."""

    time: str
    severity: str
    phase: str
    title: str
    finding: str


class GrantRow(_Part, frozen=True, kw_only=True):
    """An AccessGrant that lived in the period."""

    id: str
    """`namespace/name@uid`."""
    cluster: str
    store: str
    rights: list[str]
    to: list[str]
    """Service accounts, people, groups."""
    reason: str
    approvers: list[str]
    begins: str
    expires: str
    state: str
    """`live`, `ended`, `deleted`, `not approved` at the period's end."""
    given: bool
    """Whether its approval began to count in the period."""
    accesses: int
    bytes: int
    by: list[str]


class ChangeRow(_Part, frozen=True, kw_only=True):
    """Something that people changed."""

    time: str
    cluster: str
    event: str
    kind: str
    name: str
    """`namespace/name`, or the name."""
    by: list[str]
    approvers: list[str]
    what: str
    """What it says, or why, in few words."""
    expires: str = ""


class NamespaceDecisions(_Part, frozen=True, kw_only=True):
    """What the gate decided in a namespace."""

    cluster: str
    namespace: str
    allowed: int
    warned: int
    refused: int
    errors: int
    sandboxed: int
    aggregated: int = 0
    """How many of the refused and the errors are known from aggregates alone."""


class ActivityCount(_Part, frozen=True, kw_only=True):
    """Entries of the activity and audit logs on one subject."""

    topic: str
    log: str
    store: str
    succeeded: int
    failed: int
    principals: list[str]
    addresses: list[str]
    last: str


class RoleRow(_Part, frozen=True, kw_only=True):
    """How Azure's role assignments or settings differ from a WeightStore and its grants."""

    time: str
    """When that was first so read."""
    cluster: str
    store: str
    principal: str
    """`oid:` and an object id; empty where it is about nobody."""
    abilities: list[str]
    difference: str
    """`unlisted`, `wider`, `ungranted`, `shared-key` …, `not-read` where something was not."""
    detail: str
    remedy: str


FORMAT: Final = 1
"""Version of a report's JSON."""


class LedgerState(_Part, frozen=True, kw_only=True):
    """The ledger as it was read."""

    log: str = ""
    size: int = 0
    """Entries that the report was made of; what came later is not in it."""
    root: str = ""
    """Of the tree of these, as it was computed while reading."""
    time: str = ""
    """RFC 3339: when the last head was signed; empty where none was."""
    key: str = ""
    """Of who signed it."""
    head: str = ""
    """`SIZE:ROOT` of the signed head that covers just these entries, for `--at-head`; empty where
    the log was longer than its last head."""
    status: str = ""
    """How that head stands to these entries, in words."""
    verdict: str = "not verified here"
    """What the verifier said of the ledger when the report was made, in words."""
    sound: bool | None = None
    """Whether it found nothing wrong; None where it was not asked."""


class StoreComparison(_Part, frozen=True, kw_only=True):
    """A store in the period, and in the one before."""

    store: str
    accesses: int
    accesses_before: int
    bytes_out: int
    bytes_out_before: int
    ungranted: int
    ungranted_before: int


class DetectionComparison(_Part, frozen=True, kw_only=True):
    """The findings of a detection in the period, and in the one before."""

    detection: str
    findings: int
    open: int
    """Of those of the period, the ones that nobody has closed."""
    before: int


class Comparison(_Part, frozen=True, kw_only=True):
    """The period beside the one before it."""

    begin: str
    """RFC 3339: of the period before."""
    end: str
    is_recorded: bool
    """Whether the ledger has anything of the period before."""
    stores: list[StoreComparison]
    detections: list[DetectionComparison]


class ReportScope(_Part, frozen=True, kw_only=True):
    """What the report is about."""

    begin: str
    end: str
    clusters: list[str]
    """Whose records were found, or the one that was asked for."""
    store: str = ""
    """The one WeightStore that it is about; empty: all."""
    sample: bool = False
    """Whether any of it is the made-up month that `sallyport run` brings."""


class PictureData(_Part, frozen=True, kw_only=True):
    """What the pictures show."""

    days: list[str]
    """Of the period."""
    lines: list["TimelineRow"] = []
    """Bytes of a day by principal: first those with odd accesses, then those who read most,
    then all others together."""
    hours: list[list[int]] = []
    """Accesses by weekday (Monday first) and hour, UTC."""
    odd_hours: list[list[int]] = []
    """Of those, the odd ones: that no live grant covered."""


class TimelineRow(_Part, frozen=True, kw_only=True):
    """The bytes that one principal read on each day."""

    who: str
    """Empty: all others."""
    account: str
    """A service account of its Pods; empty where no Pod is known."""
    bytes: list[int]
    odd_bytes: list[int]
    """Of these, the bytes of odd accesses: of those in `PictureData.odd_hours`."""


class AttentionItem(_Part, frozen=True, kw_only=True):
    """What a reviewer should look at first."""

    severity: str
    text: str
    part: str
    """The section that says more."""


class Report(_Part, frozen=True, kw_only=True):
    """A report for security reviews."""

    format: int
    scope: ReportScope
    made: str
    """RFC 3339: the time of the ledger's head, else the period's end; no clock is asked."""
    ledger: LedgerState
    completeness: Completeness
    attention: list[AttentionItem]
    stores: list[StoreRow]
    principals: list[PrincipalRow]
    more_principals: int
    reached: list[ReachRow]
    more_reached: int
    pictured: PictureData
    unattributed: list[UnattributedRow]
    more_unattributed: int
    cases: list[CaseRow]
    more_cases: int
    findings: list[FindingRow]
    more_findings: int
    severities: dict[str, int]
    """Findings of each severity, those that are not listed too."""
    closed: dict[str, int]
    """Of these, the ones that people have closed: false alarms, and what is accepted for now."""
    comparison: Comparison
    signed_off: list[SignedOff]
    """Earlier reports that people have signed off since the period began, the complete ones
    first, and the latest of these: a report holds no word of itself."""
    more_signed_off: int
    grants: list[GrantRow]
    more_grants: int
    exceptions: list[ChangeRow]
    more_exceptions: int
    changes: list[ChangeRow]
    more_changes: int
    decisions: list[NamespaceDecisions]
    more_decisions: int
    activities: list[ActivityCount]
    roles: list[RoleRow]
    more_roles: int
    people: dict[str, str] = {}
    """Names of ids, where the operator gave a list: then this report names people."""
    digest: str = ""
    """`sha256:` over this document as JSON with an empty digest."""
