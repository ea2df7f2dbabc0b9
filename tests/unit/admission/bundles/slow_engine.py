"""An engine that says which revision it is in all that it finds, and takes its time."""

import asyncio
from collections.abc import Mapping

from core.base.errors import EvaluationError
from core.decision.decision import Denial, Need
from policies.bundle.format import Rule
from policies.engine.cache import RememberingEngine
from policies.engine.interface import A_POD, Judgement, PolicyAnswer, ShownFields
from policies.site.fields import DeclaredFields

RULE = Rule(
    "rules/acme/x", "T", "D", "is {value}", "R", 1, severity="low", site=True, kinds=["Pod"]
)
OWN = Rule("rules/runtime/x", "T", "D", "is {value}", "R", 1, severity="low")
NEEDS = Rule("privileges/x/y", "T", "D", "needs {value}", "R", 1, severity="low")


class Answering:
    """Finds itself, at each question, after letting others go on."""

    def __init__(self, revision: str, rules: Mapping[str, Rule] | None = None) -> None:
        self.revision = revision
        self.rules: Mapping[str, Rule] = rules or {each.id: each for each in (RULE, OWN, NEEDS)}
        self.reads = DeclaredFields(self.rules.values())
        self.closed = False

    async def ask(self, projection: bytes) -> PolicyAnswer:  # noqa: ARG002 -- the protocol's
        """Deny, and need something, that has the revision's name."""
        await self._wait()
        need = Need(NEEDS.id, f"x/{self.revision}", "spec")
        return PolicyAnswer((need,), (Denial(OWN.id, "spec", self.revision),))

    async def judge(
        self,
        projection: bytes,  # noqa: ARG002 -- the protocol's, as those that follow
        answer: PolicyAnswer,  # noqa: ARG002
        context: bytes,  # noqa: ARG002
        shown: ShownFields = A_POD,  # noqa: ARG002
    ) -> Judgement:
        """Deny again."""
        await self._wait()
        return Judgement(denials=(Denial(RULE.id, "spec", self.revision),))

    async def _wait(self) -> None:
        for _ in range(3):
            if self.closed:
                raise EvaluationError("it was closed")
            await asyncio.sleep(0)

    def close(self) -> None:
        """Answer nothing any more."""
        self.closed = True


def answering(revision: str) -> RememberingEngine:
    """Return one that remembers nothing."""
    return RememberingEngine(Answering(revision), 0)
