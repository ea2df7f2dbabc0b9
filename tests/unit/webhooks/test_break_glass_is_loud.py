"""What an open BreakGlass lets in is counted by name, and told in a line of level warning."""

from pathlib import Path

from core.decision.decision import Decision, Evidence
from core.decision.request import Request
from tests.unit.webhooks.gate import running_gate
from tests.unit.webhooks.judge import PrivilegedJudge, approval
from tests.unit.webhooks.reviews import encode, review

RELAXED = 'sallyport_break_glass_relaxed_total{name="fire"} 1.0'


class Broken(PrivilegedJudge):
    """Admits everything by an open BreakGlass."""

    async def validate(self, request: Request, *, budget: float) -> Decision:
        """Admit it."""
        del request, budget
        return approval(evidence=Evidence(break_glass=("fire@uid-1",)))

    async def mutate(self, request: Request, *, budget: float) -> Decision:
        """Admit it."""
        return await self.validate(request, budget=budget)


async def test_use_of_break_glass_is_counted_and_logged_once(tmp_path: Path) -> None:
    """Of the two passes the validating one; the line finds the decision and names nobody."""
    async with running_gate(tmp_path, Broken()) as gate:
        for path in ("/mutate", "/validate"):
            await gate.post(path, encode(review()))
        (line,) = [line for line in gate.lines() if line["event"] == "break glass"]
        assert (line["level"], line["names"]) == ("warning", ["fire@uid-1"])
        assert line["id"].startswith("01999999")
        assert (line["kind"], line["namespace"], line["name"]) == ("Pod", "train", "llama-0")
        assert RELAXED in await gate.scrape()
