"""What is in force is replaced while reviews are judged: none fails, none mixes two revisions."""

import asyncio
import itertools
import threading

import pytest

from admission.bundles.active import ActiveJudge
from admission.judge import Judge
from core.cluster import Cluster
from core.decision.decision import Decision, Verdict
from policies.engine.cache import RememberingEngine
from tests.unit.admission.bundles.slow_engine import NEEDS, OWN, RULE, Answering, answering
from tests.unit.admission.world import Folder, judge_of, pod, request

REVIEWS = 3000


@pytest.fixture
def cluster(folder: Folder) -> Cluster:
    """A cluster in which everyone may use a profile that covers nothing."""
    return folder.namespace("train").cluster()


def in_force(cluster: Cluster, engine: RememberingEngine) -> ActiveJudge:
    """Begin with an engine."""

    def make(of: RememberingEngine) -> Judge:
        return judge_of(cluster, of)

    return ActiveJudge(engine, make)


def speaks_of(decision: Decision) -> set[str]:
    """Return the revisions that speak in a decision's findings."""
    said = {f.message.rpartition(" ")[2] for f in decision.findings if f.rule in {OWN.id, RULE.id}}
    return said | {str(f.privilege)[2:] for f in decision.findings if f.rule == NEEDS.id}


async def test_no_decision_mixes_two_revisions(cluster: Cluster) -> None:
    """3,000 reviews in flight, a swap at every chance: each is of the revision that it names."""
    judging = in_force(cluster, answering("0"))
    engines = [judging.engine]
    over = False

    async def swap() -> None:
        for number in itertools.count(1):
            if over:
                return
            engine = answering(str(number))
            engines.append(engine)
            judging.activate_engine(engine, judging.make(engine))
            await asyncio.sleep(0)

    async def review() -> Decision:
        return await judging.validate(request(pod()), budget=60)

    swapping = asyncio.create_task(swap())
    decisions: list[Decision] = []
    for _ in range(REVIEWS // 100):
        decisions += await asyncio.gather(*(review() for _ in range(100)))
    over = True
    await swapping
    await judging.settle()
    assert len(decisions) == REVIEWS
    assert {each.verdict for each in decisions} == {Verdict.DENY}
    assert [each for each in decisions if speaks_of(each) != {each.policy_revision}] == []
    assert all(len(each.findings) == 3 for each in decisions)
    assert len({each.policy_revision for each in decisions}) > 20
    assert [_is_closed(each) for each in engines] == [True] * (len(engines) - 1) + [False]


def _is_closed(engine: RememberingEngine) -> bool:
    inner = engine._engine  # noqa: SLF001 -- what is closed, nobody else can see
    assert isinstance(inner, Answering)
    return inner.closed


async def test_an_engine_is_closed_once_its_last_review_is_answered(cluster: Cluster) -> None:
    """Not before, however long that takes; then in another thread, which may take long."""
    first = answering("first")
    judging = in_force(cluster, first)
    reviewing = asyncio.create_task(judging.validate(request(pod()), budget=60))
    await asyncio.sleep(0)
    second = answering("second")
    judging.activate_engine(second, judging.make(second))
    await asyncio.sleep(0)
    assert not _is_closed(first)
    assert (await reviewing).policy_revision == "first"
    assert (await judging.validate(request(pod()), budget=60)).policy_revision == "second"
    await judging.settle()
    assert _is_closed(first)


async def test_a_review_that_is_given_up_lets_go_of_its_engine(cluster: Cluster) -> None:
    """As one whose deadline ends does."""
    first = answering("first")
    judging = in_force(cluster, first)
    reviewing = asyncio.create_task(judging.mutate(request(pod()), budget=60))
    await asyncio.sleep(0)
    second = answering("second")
    judging.activate_engine(second, judging.make(second))
    reviewing.cancel()
    await asyncio.gather(reviewing, return_exceptions=True)
    await judging.settle()
    assert _is_closed(first)


async def test_closing_does_not_stop_the_loop(cluster: Cluster) -> None:
    """A real engine's takes a few milliseconds, and waits for what still runs."""
    closed_in: list[int] = []

    class Slow(Answering):
        def close(self) -> None:
            closed_in.append(threading.get_ident())

    judging = in_force(cluster, RememberingEngine(Slow("first")))
    second = answering("second")
    judging.activate_engine(second, judging.make(second))
    await judging.settle()
    assert closed_in
    assert threading.get_ident() not in closed_in


async def test_evaluations_are_counted_over_all_engines(cluster: Cluster) -> None:
    """A counter of Prometheus' must not go back with a swap; trying out does not count."""
    judging = in_force(cluster, RememberingEngine(Answering("first")))
    for _ in range(3):
        await judging.validate(request(pod()), budget=60)
    second = RememberingEngine(Answering("second"))
    await second.ask(b"{}")
    judging.activate_engine(second, judging.make(second))
    assert dict(judging.evaluations()) == {"remembered": 2, "evaluated": 1}
    await judging.validate(request(pod()), budget=60)
    assert dict(judging.evaluations()) == {"remembered": 2, "evaluated": 2}
    await judging.settle()


async def test_nothing_is_judged_until_it_is_known_what_is_active(cluster: Cluster) -> None:
    """What the first engine waits for is missing."""
    judging = in_force(cluster, answering("0"))
    assert judging.missing() == []
    judging.waits_for = lambda: ["the active bundle is not known"]
    assert judging.missing() == ["the active bundle is not known"]
