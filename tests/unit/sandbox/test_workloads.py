"""What the sandbox makes of realistic workloads: signals, score and verdict, each argued."""

import json
from collections.abc import Iterator

import pytest

from core.kubernetes.pod import decode_pod
from core.sandbox.decision import RuntimeClass, SandboxMode
from policies.bundle.format import read_bundle
from policies.engine.embedded_engine import EmbeddedEngine
from policies.engine.interface import PolicyAnswer
from policies.projection.model import encode
from policies.projection.pods import project
from sandbox.risk_score import RiskScore, score_risk
from sandbox.runtime_choice import (
    DEFAULT_SANDBOX_SETTINGS,
    THRESHOLD,
    choose_runtime,
    is_sandbox_required,
)
from tests.unit.policies.bundles import make_bundle
from tests.unit.sandbox.workloads import RUNC, SANDBOX, Fields, Workload
from tests.unit.sandbox.workloads_of_platforms import PLATFORMS
from tests.unit.sandbox.workloads_of_research import RESEARCH

WORKLOADS = (*RESEARCH, *PLATFORMS)
CLASSES = {"gvisor": RuntimeClass("gvisor", "runsc")}
FEWEST = 40


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedEngine]:
    """The engine on a bundle compiled from the sources of now."""
    engine = EmbeddedEngine(read_bundle(make_bundle(tmp_path_factory.mktemp("built"))))
    yield engine
    engine.close()


def ask(engine: EmbeddedEngine, pod: Fields) -> PolicyAnswer:
    """Return what the policies say of a Pod."""
    return engine.evaluate(encode(project(decode_pod(json.dumps(pod).encode()))))


def weighed(engine: EmbeddedEngine, workload: Workload) -> RiskScore:
    """Weigh a workload of which a profile covers all but what is excused."""
    answer = ask(engine, workload.pod)
    excused = [need for need in answer.needs if need.privilege in workload.excused]
    assert {need.privilege for need in excused} == set(workload.excused)
    return score_risk(answer.signals, excused, engine.rules, {})


def by_name(workload: Workload) -> str:
    """Name a case."""
    return workload.name.replace(" ", "-")


def test_there_are_enough_of_them_each_argued() -> None:
    """Names differ, every one has its line, and each verdict occurs."""
    assert len({workload.name for workload in WORKLOADS}) == len(WORKLOADS) >= FEWEST
    assert all(workload.because for workload in WORKLOADS)
    verdicts = [workload.verdict for workload in WORKLOADS]
    refused = [verdict for verdict in verdicts if verdict not in {RUNC, SANDBOX}]
    assert min(verdicts.count(RUNC), verdicts.count(SANDBOX), len(refused)) >= 8


@pytest.mark.parametrize("workload", WORKLOADS, ids=by_name)
def test_signals_and_score_are_those_that_are_argued(
    engine: EmbeddedEngine, workload: Workload
) -> None:
    """No signal more or less, and their points add up."""
    found = weighed(engine, workload)
    rules = {each.rule.removeprefix("sandbox/") for each in found.counted}
    assert rules == set(workload.signals.split())
    assert found.score == workload.score
    assert all(each.path and each.reason for each in found.counted)


@pytest.mark.parametrize("workload", WORKLOADS, ids=by_name)
def test_verdict_is_the_one_that_is_argued(engine: EmbeddedEngine, workload: Workload) -> None:
    """Under runc, under gVisor, or refused for exactly the features that gVisor cannot run."""
    score = weighed(engine, workload).score
    must = is_sandbox_required(SandboxMode.BY_RISK, asked=False, score=score, threshold=THRESHOLD)
    choice = choose_runtime(
        DEFAULT_SANDBOX_SETTINGS, None, ask(engine, workload.pod).features, CLASSES
    )
    features = sorted({each.feature.name for each in choice.refusals if each.feature})
    if not must:
        assert workload.verdict == RUNC
    elif features:
        assert sorted(workload.verdict.split()) == features
    else:
        assert (workload.verdict, choice.runtime) == (SANDBOX, "gvisor")
