"""The status that is written of an object that needs approval, or gives it. Pure."""

from typing import Any, Final

import msgspec

from control.approvals.conditions import ApprovalConditions, ConditionAnswer
from core.base.safe_text import shorten
from core.base.times import time_text
from core.kubernetes.conditions import Condition, stamp_condition
from kube.watch.statuses import ApprovalStatus, StatusHead

APPROVED: Final = "Approved"
ACTIVE: Final = "Active"

_LONGEST: Final = 1000
"""Characters of a message."""


def status_of(
    head: StatusHead, conditions: ApprovalConditions, before: ApprovalStatus | None, now: float
) -> ApprovalStatus:
    """Return the status; equal to `before` where nothing of it has changed.

    `before` is what was written last, whatever stands there now.
    """
    before = before or ApprovalStatus()
    answers = (_condition(APPROVED, conditions.approved), _condition(ACTIVE, conditions.active))
    return ApprovalStatus(
        head.generation,
        time_text(conditions.ends) if conditions.ends is not None else None,
        conditions.approvers,
        tuple(
            stamp_condition(each, before.condition(each.type), head.generation, now)
            for each in answers
        ),
    )


def status_patch(head: StatusHead, status: ApprovalStatus) -> dict[str, Any]:
    """Return the merge patch that makes the status this one, and no other object's."""
    return {"metadata": {"uid": head.uid}, "status": msgspec.to_builtins(status)}


def _condition(kind: str, verdict: ConditionAnswer) -> Condition:
    message = shorten(verdict.message, _LONGEST, " …")
    return Condition(kind, str(verdict.holds), verdict.reason, message)
