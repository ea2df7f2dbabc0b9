"""What a report keeps of one Pod that is not simply allowed, and which Pods come first."""

from collections.abc import Callable
from typing import Final

import msgspec

from control.sweep.pods import ListedPod
from core.decision.decision import Decision, Finding, Verdict

_MOST_NAME: Final = 256
_MOST_UID: Final = 64
_MOST_RULE: Final = 128
_MOST_OWNER: Final = 192
_MOST_PRIVILEGES: Final = 192
_MOST_MESSAGE: Final = 480
"""Bytes of JSON kept of each text: 100 results stay under 200 KiB whatever a Pod says."""

SEVERITIES: Final = ("info", "low", "medium", "high", "critical")
"""OpenReports' words (openreports.io/v1alpha1 ResultSeverity), the mildest first."""

_UNKNOWN_SEVERITY: Final = "medium"
_WORST_FIRST: Final = {Verdict.ERROR: 0, Verdict.DENY: 1, Verdict.WARN: 2, Verdict.ALLOW: 3}


class PodResult(msgspec.Struct, frozen=True):
    """One Pod and what is wrong with it."""

    verdict: Verdict
    name: str
    uid: str
    findings: int
    rule: str
    """Of its first finding of the highest severity; `error/<kind>` where it could not be judged."""
    severity: str
    message: str
    privileges: str
    """The privileges that it lacks, with commas between."""
    owner: str
    """What made it, `Job/pretrain`: one mistake there shows in all its Pods. Empty without one."""

    @property
    def order(self) -> tuple[int, int, str, str]:
        """Sorts the worst first: by verdict, then by the number of findings, then by name."""
        return _WORST_FIRST[self.verdict], -self.findings, self.name, self.uid


def result_of(pod: ListedPod, decision: Decision, severity_of: Callable[[str], str]) -> PodResult:
    """Return what is kept of a decision; `severity_of` knows the severity of a rule. Pure."""
    if decision.verdict is Verdict.ERROR:
        rule, severity, message = f"error/{decision.error_kind}", "high", _error(decision)
    else:
        severity, finding = _worst(decision.findings, severity_of)
        rule, message = finding.rule, _message(finding, len(decision.findings) - 1)
    privileges = dict.fromkeys(f.privilege for f in decision.findings if f.privilege)
    return PodResult(
        verdict=decision.verdict,
        name=cut(pod.name, _MOST_NAME),
        uid=cut(pod.uid, _MOST_UID),
        findings=len(decision.findings),
        rule=cut(rule, _MOST_RULE),
        severity=severity,
        message=cut(message, _MOST_MESSAGE),
        privileges=cut(", ".join(privileges), _MOST_PRIVILEGES),
        owner=cut(pod.owner, _MOST_OWNER),
    )


def cut(text: str, most: int) -> str:
    """Return `text`, cut so that it takes at most `most` bytes as JSON."""
    if len(text) * 6 <= most or len(msgspec.json.encode(text)) <= most:
        return text
    kept = text[:most]
    while (size := len(msgspec.json.encode(kept + "…"))) > most:
        kept = kept[: min(len(kept) - 1, len(kept) * most // size)]
    return kept + "…"


def _worst(findings: list[Finding], severity_of: Callable[[str], str]) -> tuple[str, Finding]:
    def severity(finding: Finding) -> str:
        known = severity_of(finding.rule)
        return known if known in SEVERITIES else _UNKNOWN_SEVERITY

    worst = max(findings, key=lambda finding: SEVERITIES.index(severity(finding)))
    return severity(worst), worst


def _message(finding: Finding, others: int) -> str:
    place = f"{finding.path}: " if finding.path else ""
    more = f" And {others} more finding{'s' if others > 1 else ''}." if others else ""
    return f"{place}{finding.message}. {finding.remedy}{more}"


def _error(decision: Decision) -> str:
    place = f"{decision.field}: " if decision.field else ""
    return f"Could not be judged; this is an error, not a denial. {place}{decision.reason}"
