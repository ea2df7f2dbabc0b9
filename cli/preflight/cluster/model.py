"""What `sallyport preflight cluster` finds, for programs and for people."""

from dataclasses import dataclass, field
from typing import Any, Final, Literal

import msgspec

from cli import exits

FORMAT: Final = 1

Severity = Literal["blocks", "warning", "note"]
"""`blocks`: the installation cannot work so, or harms the cluster."""


class PreflightFinding(msgspec.Struct, frozen=True, rename="camel"):
    """Something that meets Sallyport in this cluster."""

    area: str
    severity: Severity
    what: str
    fix: str
    see: str
    """Page, and section, of the documentation."""


class ClusterSizes(msgspec.Struct, frozen=True, rename="camel"):
    """How large the cluster is now."""

    nodes: int
    pods: int
    namespaces: int


class PodAuthor(msgspec.Struct, frozen=True, rename="camel"):
    """A group or service account that may create Pods or what carries them."""

    kind: Literal["Group", "ServiceAccount"]
    name: str
    namespace: str
    """Of the service account; empty for a group."""
    where: list[str]
    """Namespaces in which it may; empty: in all."""


class ClusterPreflight(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """`sallyport preflight cluster -o json` (docs/reference/preflight-cluster.schema.json)."""

    format: int = FORMAT
    kubernetes: str
    network: str
    """As people call it; empty where nothing was seen that enforces NetworkPolicies."""
    sizes: ClusterSizes | None
    findings: list[PreflightFinding]
    """The worst first."""
    unknown: list[str]
    """What could not be read, and why."""
    authors: list[PodAuthor]
    users: int
    """How many users, whom nothing here names, have a binding of their own for that."""
    values: dict[str, Any]
    """Values of the chart that fit."""

    @property
    def exit_code(self) -> int:
        """What the command ends with: findings weigh more than what could not be read."""
        if any(each.severity != "note" for each in self.findings):
            return exits.REFUSED
        return exits.NOT_JUDGED if self.unknown else exits.ADMITTED


@dataclass
class PreflightNotes:
    """Findings, gaps and values, as they are found."""

    findings: list[PreflightFinding] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    values: dict[str, Any] = field(default_factory=dict)

    def find(self, area: str, severity: Severity, what: str, fix: str, see: str) -> None:
        """Note something that meets Sallyport."""
        self.findings.append(PreflightFinding(area, severity, what, fix, f"docs/operate/{see}"))
