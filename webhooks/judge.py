"""What the webhooks ask of `admission`: the one seam between HTTP and judging."""

from typing import Protocol

from core.decision.decision import Decision
from core.decision.request import Request


class Judge(Protocol):
    """Decides reviews. Implemented by `admission`."""

    def missing(self) -> list[str]:
        """Name what is not loaded yet, for a person; empty when reviews can be judged."""

    async def validate(self, request: Request, *, budget: float) -> Decision:
        """Decide on the final state of an object within `budget` seconds.

        What cannot be judged comes back as Verdict.ERROR, not as an exception.
        """

    async def mutate(self, request: Request, *, budget: float) -> Decision:
        """Decide what to note on an object, within `budget` seconds."""
