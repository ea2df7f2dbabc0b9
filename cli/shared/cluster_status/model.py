"""What `sallyport status` says of an installation, for programs and for people."""

import enum
from dataclasses import dataclass, field
from typing import Final, Literal

import msgspec

from cli import exits

FORMAT: Final = 1
"""Version of what programs read."""


class AreaState(enum.StrEnum):
    """How a part of an installation stands."""

    WELL = "well"
    PROBLEM = "problem"
    UNKNOWN = "unknown"
    """It could not be asked, or not all of it: that is never taken for well."""
    OFF = "off"
    """It is not installed, or switched off."""


class StatusProblem(msgspec.Struct, frozen=True, rename="camel"):
    """Something that is not as it should be."""

    area: str
    severity: Literal["critical", "warning"]
    """`critical`: requests are refused or not judged, or nothing is recorded, now or soon."""
    what: str
    first: str
    """What to do first."""
    see: str
    """The section of the documentation that goes on."""


class StatusGap(msgspec.Struct, frozen=True, rename="camel"):
    """Something that could not be asked."""

    area: str
    why: str


class StatusArea(msgspec.Struct, frozen=True, rename="camel"):
    """A part of the installation, in a line or a few."""

    name: str
    state: AreaState
    says: list[str]


class PodStatus(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """A Pod of a process."""

    name: str
    ready: bool
    since: str
    """When its container began; empty where it does not run."""
    restarts: int
    waiting: str
    """Why kubelet does not run it, or why it ended last; empty where neither is."""
    version: str
    """As the process itself says; empty where it was not asked."""
    missing: str
    """What its `/readyz` says that it lacks; empty where nothing is, or it was not asked."""


class ProcessStatus(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """A process and its Pods."""

    name: Literal["gate", "control", "auditor"]
    wanted: int
    ready: int
    restarts: int
    chart: str
    """Name and version of the chart that made it."""
    images: list[str]
    pods: list[PodStatus]


class LeaderStatus(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """Who leads among the replicas of `control`."""

    holder: str
    """Empty where nobody does."""
    since: str
    """Since when the holder leads; empty without one."""
    renewed: str
    """When the Lease was written last: since then nobody leads, where nobody does."""


class RegistrationStatus(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """A webhook configuration, or a guard policy with its binding."""

    kind: str
    name: str
    registered: bool
    failure_policies: list[str]
    """Each once."""
    ca_ends: str
    """When the last CA that it trusts ends; empty for a policy."""
    missing: list[str]
    """Webhooks that the chart ships in it and that are not there."""


class CertificateEnd(msgspec.Struct, frozen=True, rename="camel"):
    """When a certificate expires."""

    name: str
    ends: str


class RecordingStatus(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """The spool of a process."""

    pod: str
    full: bool
    held_bytes: int
    most_bytes: int
    oldest_seconds: float
    """Age of the oldest record that the auditor has not acknowledged; 0 without one."""
    hours_left: float | None
    """For how long there is room if the auditor takes nothing; None while nothing is recorded."""


class LedgerStatus(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """The auditor's ledger."""

    records: int | None
    """None where the auditor does not say."""
    signed_seconds_ago: float | None
    """Age of the last signed head; None before the first."""
    used_bytes: int | None
    """None where the auditor does not say."""
    free_bytes: int | None
    """What more can be kept; None where the auditor does not know."""
    days_left: float | None
    """Until it is full; None while it does not grow, or where the auditor does not know."""


class ModesStatus(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """How many namespaces are in which mode."""

    enforce: int
    warn: int
    audit: int
    left_out: list[str]
    """Names that the webhooks are not asked about."""


class EndingObject(msgspec.Struct, frozen=True, rename="camel"):
    """An object that relaxes something until a time, or waits for approval."""

    kind: str
    namespace: str
    name: str
    ends: str


class ApprovalsStatus(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """What relaxes the rules now, and what waits for people."""

    exceptions: int
    """PolicyExceptions that have not ended."""
    waiting: list[EndingObject]
    """With fewer approvals than two that are recorded."""
    ending: list[EndingObject]
    """Approved, and end within a day."""
    open: list[EndingObject]
    """BreakGlasses that are activated."""


class InstallationStatus(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """`sallyport status -o json` (docs/reference/status.schema.json)."""

    format: int = FORMAT
    at: str
    """By this machine's clock."""
    namespace: str
    state: AreaState
    summary: str
    """The overall state in a sentence."""
    kubernetes: str
    """Version; empty where it is not known."""
    problems: list[StatusProblem]
    """The worst first."""
    unknown: list[StatusGap]
    notes: list[str]
    """What is worth knowing and no fault."""
    areas: list[StatusArea]
    processes: list[ProcessStatus]
    leader: LeaderStatus | None
    registrations: list[RegistrationStatus]
    certificates: list[CertificateEnd]
    recording: list[RecordingStatus]
    ledger: LedgerStatus | None
    modes: ModesStatus | None
    approvals: ApprovalsStatus | None

    @property
    def exit_code(self) -> int:
        """What the command ends with: a fault weighs more than what could not be asked."""
        if self.problems:
            return exits.REFUSED
        return exits.NOT_JUDGED if self.unknown else exits.ADMITTED


ALERTS: Final = "docs/operate/alerts.md"


@dataclass
class AreaFindings:
    """What is found of one area, as it is found."""

    name: str
    says: list[str] = field(default_factory=list)
    problems: list[StatusProblem] = field(default_factory=list)
    gaps: list[StatusGap] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    off: bool = False

    def problem(self, what: str, first: str, see: str, *, critical: bool = False) -> None:
        """Note a fault; `see` is a page and section below the repository's root."""
        severity: Literal["critical", "warning"] = "critical" if critical else "warning"
        self.problems.append(StatusProblem(self.name, severity, what, first, see))

    def gap(self, why: str) -> None:
        """Note what could not be asked."""
        self.gaps.append(StatusGap(self.name, why))

    @property
    def area(self) -> StatusArea:
        """The area in one word and its lines."""
        if self.problems:
            state = AreaState.PROBLEM
        elif self.gaps:
            state = AreaState.UNKNOWN
        else:
            state = AreaState.OFF if self.off else AreaState.WELL
        return StatusArea(self.name, state, self.says)


def alert(name: str) -> str:
    """Return the section of the runbook of an alert."""
    return f"{ALERTS}#{name.lower()}"
