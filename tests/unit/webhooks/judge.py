"""A small judge of the tests' own, and the decisions that it makes."""

import asyncio
from dataclasses import dataclass, field
from typing import Any

import msgspec

from core.decision.decision import Action, Decision, Finding, Verdict, WhenUnrecorded
from core.decision.request import Request

BAD = b'"privileged"'
DECISION_ID = "01999999-0000-7000-8000-00000000000"


@dataclass
class PrivilegedJudge:
    """Refuses every object in which the word "privileged" stands."""

    lacks: list[str] = field(default_factory=list)
    delay: float = 0.0
    error: Exception | None = None
    when_unrecorded: WhenUnrecorded = WhenUnrecorded.REFUSE
    early: bool = False
    """Whether the mutating pass refuses already."""
    budgets: list[float] = field(default_factory=list)

    def missing(self) -> list[str]:
        """Name what the test says is missing."""
        return self.lacks

    async def validate(self, request: Request, *, budget: float) -> Decision:
        """Refuse or admit, after `delay`."""
        self.budgets.append(budget)
        if self.delay:
            await asyncio.sleep(self.delay)
        if self.error:
            raise self.error
        bad = request.object is not None and BAD in bytes(request.object)
        return refusal() if bad else approval(when_unrecorded=self.when_unrecorded)

    async def mutate(self, request: Request, *, budget: float) -> Decision:
        """Note the profile on what `validate` would admit."""
        decision = await self.validate(request, budget=budget)
        if decision.allowed:
            return approval(recorded={"sallyport.dev/profile": "restricted"})
        return decision if self.early else msgspec.structs.replace(decision, allowed=True)


def approval(**changes: Any) -> Decision:
    """Return a Decision that admits."""
    fields: dict[str, Any] = {
        "id": DECISION_ID,
        "verdict": Verdict.ALLOW,
        "allowed": True,
        "profile": "restricted",
        "policy_revision": "4f0c2a9e11aa",
        "profiles_revision": "77aa01b2c3d4",
        "subjects": ["user:0123456789abcdef"],
    }
    return Decision(**fields | changes)


def refusal(**changes: Any) -> Decision:
    """Return a Decision that denies, with one finding."""
    finding = Finding(
        rule="privileges/host/privileged",
        action=Action.DENY,
        path="spec.containers[0].securityContext.privileged",
        message="the container is privileged",
        remedy="remove it",
        privilege="host/privileged",
    )
    fields: dict[str, Any] = {
        "verdict": Verdict.DENY,
        "allowed": False,
        "message": f"Pod train/llama-0: 1 finding (decision {DECISION_ID})",
        "findings": [finding],
    }
    return approval(**fields | changes)
