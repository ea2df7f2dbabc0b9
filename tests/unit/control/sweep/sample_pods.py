"""Pods and decisions made for tests of the sweep."""

from typing import Any

import msgspec

from control.sweep.pods import ListedPod
from control.sweep.results import PodResult
from core.decision.decision import Action, Decision, Finding, Verdict

SWEEP = "019aa68f-4b3b-791c-8ca7-e02b195e0b08"
"""Its time is 2025-11-21T13:16:40.123Z."""


def finding(rule: str = "privileges/host/network", **more: Any) -> Finding:
    """Return a finding."""
    fields: dict[str, Any] = {
        "path": "spec.hostNetwork",
        "message": "shares the node's network",
        "remedy": "Remove hostNetwork.",
        "privilege": "host/network",
    }
    return Finding(rule=rule, action=Action.DENY, **fields | more)


def decision(verdict: Verdict, *findings: Finding, **more: Any) -> Decision:
    """Return a decision."""
    return Decision(
        id=SWEEP,
        verdict=verdict,
        allowed=verdict is Verdict.ALLOW,
        findings=list(findings),
        **more,
    )


def listed(name: str = "p", uid: str = "u", **more: Any) -> ListedPod:
    """Return a Pod as it was listed."""
    fields: dict[str, Any] = {"namespace": "a", "account": "default", "owner": ""} | more
    return ListedPod(name=name, uid=uid, passed_over="", raw=msgspec.Raw(b"{}"), **fields)


def result(verdict: Verdict, name: str, findings: int = 1, **more: Any) -> PodResult:
    """Return what is kept of a Pod."""
    fields: dict[str, Any] = {
        "rule": "privileges/host/network",
        "severity": "high",
        "message": "m",
        "privileges": "host/network",
        "owner": "",
    }
    return PodResult(
        verdict=verdict, name=name, uid=f"u-{name}", findings=findings, **fields | more
    )
