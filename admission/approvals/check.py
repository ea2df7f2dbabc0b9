"""Guarded objects carry the author and approver that the gate recorded."""

from collections.abc import Mapping
from typing import Final

import msgspec

from admission.model.facts import Facts
from admission.model.outcome import NOTHING, Outcome
from core.decision.decision import Action, Decision, Finding, Verdict
from core.decision.request import Request

RECORDED_RULE: Final = "guards/recorded"
"""The rule whose findings the mutating webhook mends."""


def check_guards(_: Request, facts: Facts) -> Outcome:
    """Refuse what is not recorded as the request says, and who may not do this."""
    guard = facts.guard
    if guard is None:
        return NOTHING
    findings = (*guard.findings, *_not_recorded(guard.recorded, guard.found))
    if not findings:
        return NOTHING
    return Outcome(findings, "It may not be written so, or not by you.")


def without_unrecorded(decision: Decision) -> Decision:
    """Return a decision of the mutating pass without what that pass itself puts right."""
    left = [finding for finding in decision.findings if finding.rule != RECORDED_RULE]
    if len(left) == len(decision.findings):
        return decision
    if left:
        return msgspec.structs.replace(decision, findings=left)
    answered: list[Finding] | None = None if decision.answered is None else []
    return msgspec.structs.replace(
        decision, findings=[], answered=answered, verdict=Verdict.ALLOW, message=""
    )


def _not_recorded(recorded: Mapping[str, str], found: Mapping[str, str]) -> list[Finding]:
    return [
        Finding(
            RECORDED_RULE,
            Action.DENY,
            f"metadata.annotations[{name}]",
            "is not what Sallyport's mutating webhook records here",
            "Leave it out and try again; if it stays, tell your cluster's operators.",
        )
        for name, value in recorded.items()
        if found.get(name, "") != value
    ]
