"""What the mutating pass refuses already, and what it leaves to the final state."""

from typing import Any

import pytest

from core.decision.decision import Decision, Verdict
from core.decision.namespaces import Mode
from core.decision.request import Kind
from policies.backstop.rules import COVERED
from policies.engine.embedded_engine import EmbeddedEngine
from tests.unit.admission.world import Folder, judge_of, pod, request


async def mutated(
    engine: EmbeddedEngine, folder: Folder, made: dict[str, Any], mode: Mode = Mode.ENFORCE
) -> Decision:
    """Return what the mutating pass answers of a Pod."""
    judge = judge_of(folder.cluster(), engine, mode=mode)
    return await judge.mutate(request(made), budget=5.0)


def privileged() -> dict[str, Any]:
    """Return a Pod with a privileged container."""
    made = pod()
    made["spec"]["containers"][0]["securityContext"] = {"privileged": True}
    return made


@pytest.mark.parametrize(
    "made",
    [
        privileged(),
        pod(hostNetwork=True),
        pod(add=["NET_ADMIN"]),
        pod(volumes=[{"name": "a", "hostPath": {"path": "/etc"}}]),
        pod(annotations={"sallyport.dev/profile": "nowhere"}, hostPID=True),
    ],
)
async def test_what_the_back_stop_holds_is_refused(
    engine: EmbeddedEngine, folder: Folder, made: dict[str, Any]
) -> None:
    """With the words and the id of a decision: the back-stop has neither."""
    decision = await mutated(engine, folder, made)
    assert (decision.allowed, decision.verdict) == (False, Verdict.DENY)
    assert decision.id in decision.message
    assert {need.rule for need in decision.evidence.needs} & {each.rule for each in COVERED}


async def test_what_a_profile_covers_is_not_refused(engine: EmbeddedEngine, folder: Folder) -> None:
    """Nor what is refused for something milder beside it: the final state decides of that."""
    folder.profile("nets", 10, "host/network", "image/**", catalogue=3)
    folder.grant("Group:researchers", "nets")
    covered = await mutated(engine, folder, pod(hostNetwork=True))
    milder = pod(hostNetwork=True)
    del milder["spec"]["containers"][0]["securityContext"]["readOnlyRootFilesystem"]
    beside = await mutated(engine, folder, milder)
    assert covered.verdict is Verdict.ALLOW
    assert (beside.allowed, beside.verdict) == (True, Verdict.DENY)
    assert "host/network" not in {finding.privilege for finding in beside.findings}


@pytest.mark.parametrize("mode", [Mode.AUDIT, Mode.WARN])
async def test_nothing_is_refused_where_nothing_is_enforced(
    engine: EmbeddedEngine, folder: Folder, mode: Mode
) -> None:
    """As the back-stop, which leaves these namespaces alone."""
    assert (await mutated(engine, folder, privileged(), mode)).allowed


async def test_a_template_waits_for_the_validating_pass(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """The back-stop looks at Pods alone."""
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a"}}
    template = {"spec": privileged()["spec"]}
    asked = request(
        {**job, "spec": {"template": template}}, kind=Kind("Job", "v1", "batch"), name="a"
    )
    decision = await judge_of(folder.cluster(), engine).mutate(asked, budget=5.0)
    assert (decision.allowed, decision.verdict) == (True, Verdict.DENY)
