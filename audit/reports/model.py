"""What a report says, as one value: all its forms are made of it, and of nothing else.

It holds sums and bounded lists, whatever the ledger held: where a list was cut, it says how many
more there are. It names nobody: object ids and `Subject.label`s, unless the operator gave names.
"""

from typing import Final

import msgspec

from audit.reports.completeness import Completeness
from audit.reports.parts import (
    ActivityCount,
    CaseRow,
    Change,
    FindingRow,
    GrantRow,
    NamespaceDecisions,
    PrincipalRow,
    Reach,
    RoleRow,
    StoreRow,
    UnattributedRow,
)

FORMAT: Final = 1
"""Version of a report's JSON."""


class _Part(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Frozen, camelCase; everything is said, defaults too, so that the digest has one form."""


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
    status: str = ""
    """How that head stands to these entries, in words."""
    verdict: str = "not verified here"
    """What the verifier said of the ledger when the report was made, in words."""
    sound: bool | None = None
    """Whether it found nothing wrong; None where it was not asked."""


class Scope(_Part, frozen=True, kw_only=True):
    """What the report is about."""

    begin: str
    end: str
    clusters: list[str]
    """Whose records were found, or the one that was asked for."""
    store: str = ""
    """The one WeightStore that it is about; empty: all."""
    sample: bool = False
    """Whether any of it is the made-up month that `sallyport run` brings."""


class Pictured(_Part, frozen=True, kw_only=True):
    """What the pictures show."""

    days: list[str]
    """Of the period."""
    lines: list["Line"] = []
    """Bytes of a day by principal: first those with odd accesses, then those who read most,
    then all others together."""
    hours: list[list[int]] = []
    """Accesses by weekday (Monday first) and hour, UTC."""
    odd_hours: list[list[int]] = []
    """Of those, the odd ones: that no live grant covered."""


class Line(_Part, frozen=True, kw_only=True):
    """The bytes that one principal read on each day."""

    who: str
    """Empty: all others."""
    account: str
    """A service account of its Pods; empty where no Pod is known."""
    bytes: list[int]
    odd_bytes: list[int]
    """Of these, the bytes of odd accesses: of those in `Pictured.odd_hours`."""


class Attention(_Part, frozen=True, kw_only=True):
    """What a reviewer should look at first."""

    severity: str
    text: str
    part: str
    """The section that says more."""


class Report(_Part, frozen=True, kw_only=True):
    """A report for security reviews."""

    format: int
    scope: Scope
    made: str
    """RFC 3339: the time of the ledger's head, else the period's end; no clock is asked."""
    ledger: LedgerState
    completeness: Completeness
    attention: list[Attention]
    stores: list[StoreRow]
    principals: list[PrincipalRow]
    more_principals: int
    reached: list[Reach]
    more_reached: int
    pictured: Pictured
    unattributed: list[UnattributedRow]
    more_unattributed: int
    cases: list[CaseRow]
    more_cases: int
    findings: list[FindingRow]
    more_findings: int
    severities: dict[str, int]
    """Findings of each severity, those that are not listed too."""
    grants: list[GrantRow]
    more_grants: int
    exceptions: list[Change]
    more_exceptions: int
    changes: list[Change]
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
