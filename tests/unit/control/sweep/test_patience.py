"""What may be over in a moment is tried again, but a broken cluster does not take all day."""

from collections.abc import Iterable
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from control.sweep.judge import PodJudge
from control.sweep.settings import SweepSettings
from core.decision.decision import Decision, Running, Verdict
from core.decision.request import Request
from core.decision.sweep_document import sweep_decision_id
from kube.client.connection import Connection
from kube.client.objects import Objects
from tests.unit.control.sweep.sample_pods import SWEEP, decision, listed

TRIES = 3
SETTINGS = SweepSettings(3600, 500, retry_s=(0.0,) * (TRIES - 1))

ALLOW = decision(Verdict.ALLOW)
DOWN = decision(Verdict.ERROR, error_kind="access-review", reason="no answer")
BROKEN = decision(Verdict.ERROR, error_kind="evaluation", reason="the policies failed")


class Scripted:
    """A judge that gives decisions one after another, the last one for ever."""

    def __init__(self, decisions: Iterable[Decision], unready: int = 0) -> None:
        self.decisions = list(decisions)
        self.asked: list[str] = []
        self._unready = unready

    def missing(self) -> list[str]:
        """Lack something the first few times."""
        self._unready -= 1
        return ["profiles"] if self._unready >= 0 else []

    async def validate(self, request: Request, *, budget: float) -> Decision:
        """Return the next decision."""
        assert budget == SETTINGS.budget_s
        self.asked.append(request.name)
        return self.decisions.pop(0) if len(self.decisions) > 1 else self.decisions[0]


def judging(judge: Scripted) -> PodJudge:
    """Return what judges with it; the cluster is not asked in these tests."""
    return PodJudge(judge, Objects(Connection(Path("none"))), SETTINGS)


async def verdicts(judge: Scripted, pods: int) -> list[Verdict]:
    """Judge so many Pods."""
    made = judging(judge)
    judged = [await made.judge(listed(f"p-{number}"), SWEEP) for number in range(pods)]
    return [one.decision.verdict for one in judged if one]


async def test_a_moment_without_answers_leaves_no_trace() -> None:
    """The Pod is judged again, and the answer counts."""
    judge = Scripted([DOWN, DOWN, ALLOW])
    assert await verdicts(judge, 1) == [Verdict.ALLOW]
    assert len(judge.asked) == TRIES


async def test_a_cluster_that_stays_silent_is_tried_again_for_one_pod_only() -> None:
    """The others are errors at once; as soon as one is judged, there is patience again."""
    judge = Scripted([DOWN] * (TRIES + 2) + [ALLOW, DOWN, ALLOW])
    assert await verdicts(judge, 5) == [Verdict.ERROR] * 3 + [Verdict.ALLOW] * 2
    assert judge.asked == ["p-0"] * TRIES + ["p-1", "p-2", "p-3", "p-4", "p-4"]


async def test_what_will_not_pass_is_not_tried_again() -> None:
    """An object or a policy is as broken the second time."""
    judge = Scripted([BROKEN])
    assert await verdicts(judge, 2) == [Verdict.ERROR] * 2
    assert len(judge.asked) == 2


async def test_a_decision_has_the_sweeps_id_and_the_pods_uid() -> None:
    """Also one that is an error, by which it is found again."""
    for made in (ALLOW, BROKEN):
        pod = listed("p", "uid-1", workload="Job/x", runtime="gvisor")
        judged = await judging(Scripted([made])).judge(pod, SWEEP)
        assert judged is not None
        assert judged.decision.id == sweep_decision_id(SWEEP, "uid-1")
        assert judged.decision.evidence.object_uid == "uid-1"
        assert judged.decision.evidence.running == Running("Job/x", "gvisor")


async def test_nothing_is_judged_before_everything_is_loaded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It waits, and says once for what."""
    monkeypatch.setattr("control.sweep.judge._READY_EVERY_S", 0.0)
    judge = Scripted([ALLOW], unready=5)
    with capture_logs() as logs:
        await judging(judge).ready()
    assert [log["missing"] for log in logs] == [["profiles"]]
    assert judge.missing() == []
