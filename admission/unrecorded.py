"""What becomes of a request whose decision cannot be recorded. Pure."""

import msgspec

from admission.model.messages import not_judged
from core.base.errors import NotRecordedError
from core.decision.decision import Decision, Verdict, WhenUnrecorded
from core.decision.request import Request

_REMEDY = "Try again in a minute; if it stays, tell your cluster's operators the decision's id."


def unrecorded(request: Request, decision: Decision, error: NotRecordedError) -> Decision:
    """Give the decision to answer with: what would be admitted is refused, unless a rule says so.

    A refusal stays what it is.
    """
    if not decision.allowed or decision.when_unrecorded is WhenUnrecorded.ADMIT:
        return decision
    why = f"Nothing is admitted here whose decision cannot be recorded: {error}."
    return msgspec.structs.replace(
        decision,
        verdict=Verdict.ERROR,
        allowed=False,
        message=not_judged(request.what, why, _REMEDY, decision.id),
        warnings=[],
        findings=[],
        error_kind=error.kind,
        reason=str(error),
        recorded={},
    )
