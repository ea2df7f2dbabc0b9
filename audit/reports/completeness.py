"""How complete a report is: what came in, what could not be read, what is missing."""

import msgspec


class _Part(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Frozen, camelCase; everything is said, so that the digest has one form."""


class SourcePopulation(_Part, frozen=True, kw_only=True):
    """What one source brought of the period."""

    source: str
    stretches: int
    read: int
    stored: int
    known: int
    """Came before: the logs deliver some records twice."""
    refused: int
    skipped: int
    """Of no concern, or of an operation that had not come to its end."""
    late: int
    first: str
    last: str


class RefusedReason(_Part, frozen=True, kw_only=True):
    """Records in quarantine, by the reason."""

    reason: str
    source: str
    records: int
    place: str
    """Of the first one."""


class SkippedKind(_Part, frozen=True, kw_only=True):
    """Records of no concern, by what they are."""

    kind: str
    """The log and the operation: `azure-activity: microsoft.compute/…/action`."""
    records: int


class GapRow(_Part, frozen=True, kw_only=True):
    """A stretch of time of which a log may say nothing."""

    log: str
    subject: str
    begin: str
    end: str
    why: str


class UnconfirmedRow(_Part, frozen=True, kw_only=True):
    """What of a namespace has no other half."""

    cluster: str
    namespace: str
    decisions: int
    """Admitted, and neither was the Pod seen nor does kube-apiserver's audit log have it."""
    first_decisions: list[str]
    pods: int
    """Seen to begin, and no decision admitted them."""
    first_pods: list[str]
    """`name@uid`."""
    unrecorded: int
    """Decisions that kube-apiserver's audit log names and the ledger does not have."""
    first_unrecorded: list[str]
    in_gaps: int
    """Of all these, those in a gap of the record of Pods: nothing follows from them."""


class PodConfirmations(_Part, frozen=True, kw_only=True):
    """How decisions and Pods confirm one another."""

    admitted: int = 0
    """Creations of Pods that the gate allowed."""
    pods: int = 0
    """Pods that were seen for the first time."""
    unsure_ends: int = 0
    """Ends of Pods that were not seen themselves."""
    by_pod: int = 0
    """Decisions whose Pod was seen."""
    by_audit: int = 0
    """Decisions that only kube-apiserver's audit log confirms."""
    without_pod: int = 0
    """Decisions that nothing confirms."""
    without_decision: int = 0
    """Pods that began and that no decision admitted."""
    unrecorded: int = 0
    """Decisions that only kube-apiserver's audit log has."""
    in_gaps: int = 0
    """Of the last three, those in a gap of the record of Pods."""
    unconfirmed: list[UnconfirmedRow] = []
    more_unconfirmed: int = 0


class YoungRow(_Part, frozen=True, kw_only=True):
    """Something that a detection has seen too little of to judge by."""

    detection: str
    subject: str
    why: str


class LearntDetections(_Part, frozen=True, kw_only=True):
    """What the detections of a cluster had learnt."""

    cluster: str
    at: str = ""
    """RFC 3339: the newest that they had seen."""
    unknown: str = ""
    """Why it is not known; then nothing else here is."""
    young: list[YoungRow] = []
    more_young: int = 0
    unraised: dict[str, int] = {}
    """Findings that were not raised since ever, as the operator expects them; by detection."""
    broken: dict[str, int] = {}
    """How often detections failed since ever."""


class Completeness(_Part, frozen=True, kw_only=True):
    """What a reviewer must know before believing the rest."""

    sources: list[SourcePopulation]
    refused: list[RefusedReason]
    more_refused: int
    refused_records: int
    skipped: list[SkippedKind]
    """The most frequent ones."""
    more_skipped: int
    """Other kinds."""
    gaps: list[GapRow]
    more_gaps: int
    gap_hours: float
    """Hours of all gaps of storage logs, those that lie over one another counted once each."""
    accesses: int
    """Of weights in the period, failed ones too."""
    elsewhere: int
    """Accesses to places that are no weights: counted, and not looked at further."""
    late_findings: int
    confidence: dict[str, int]
    """Accesses of weights by how sure their attribution is."""
    shaken: int
    """Accesses whose attribution a gap in the record of Pods or identities touches."""
    lives: PodConfirmations
    storage: int = 0
    """Records of storage logs of the period, of whatever store: with none, nothing was looked at
    for what this report is about."""
    broken: dict[str, int] = {}
    """Detections that did not work, and on how many days."""
    learnt: list[LearntDetections] = []
    """By cluster."""
    overflowed: int = 0
    """Accesses of principals beyond those that are told apart: in the sums, in no row."""
    unreadable: int = 0
    """Documents of the ledger that this release cannot read: in nothing else of the report."""
    days: list[int] = []
    """Accesses of weights on each day: an empty one stands out."""
