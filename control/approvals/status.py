"""The status that is written of an object that needs approval, or gives it. Pure."""

from typing import Any, Final

import msgspec

from control.approvals.standing import ApprovalStanding, Verdict
from core.base.safe_text import shorten
from core.base.times import time_text
from core.kubernetes.conditions import Condition, stamp_condition
from kube.watch.statuses import ApprovalStatus, StatusHead

APPROVED: Final = "Approved"
ACTIVE: Final = "Active"

_LONGEST: Final = 1000
"""Characters of a message."""


def status_of(
    head: StatusHead, standing: ApprovalStanding, before: ApprovalStatus | None, now: float
) -> ApprovalStatus:
    """Return the status; `before` itself, where nothing of it has changed.

    `before` is what was written last, whatever stands there now.
    """
    before = before or ApprovalStatus()
    conditions = (_condition(APPROVED, standing.approved), _condition(ACTIVE, standing.active))
    return ApprovalStatus(
        head.generation,
        time_text(standing.ends) if standing.ends is not None else None,
        standing.approvers,
        tuple(
            stamp_condition(each, before.condition(each.type), head.generation, now)
            for each in conditions
        ),
    )


def status_patch(head: StatusHead, status: ApprovalStatus) -> dict[str, Any]:
    """Return the merge patch that makes the status this one, and no other object's."""
    return {"metadata": {"uid": head.uid}, "status": msgspec.to_builtins(status)}


def _condition(kind: str, verdict: Verdict) -> Condition:
    message = shorten(verdict.message, _LONGEST, " …")
    return Condition(kind, str(verdict.holds), verdict.reason, message)
