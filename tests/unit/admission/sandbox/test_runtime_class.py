"""Where and when the RuntimeClass is set: by its author's hand, once, never in what runs."""

from typing import Any

from core.decision.request import Operation
from core.people.subject import service_account_subject
from policies.engine.embedded_engine import EmbeddedEngine
from tests.unit.admission.requester.test_noted_workloads import DEPLOYMENT, JOB, REPLICAS
from tests.unit.admission.sandbox.sandbox_cluster import (
    SET,
    final,
    judge,
    mutated,
    namespace,
    pod,
    profiled,
    runtime_class,
    workload,
)
from tests.unit.admission.world import ALICE, OTHER, Folder, request, rules, update

DEPLOYMENTS = service_account_subject("kube-system", "deployment-controller")


async def test_a_templates_author_sees_it(engine: EmbeddedEngine, folder: Folder) -> None:
    """Set in what a person submits; without it the final state is admitted, its Pods get it."""
    runtime_class(profiled(namespace(folder, "required"), "wide", None))
    by = judge(folder.cluster(), engine)
    asked = request(workload(), kind=DEPLOYMENT)
    path = "/spec/template/spec/runtimeClassName"
    assert [each["path"] for each in (await mutated(by, asked)).filled] == [path]
    noted = await final(by, asked)
    assert [rule for rule, _ in rules(noted) if rule.startswith("sandbox/")] == []
    wrong = request(workload(runtimeClassName="other"), kind=DEPLOYMENT)
    found = [each for each in (await final(by, wrong)).findings if each.rule == "sandbox/required"]
    assert [each.path for each in found] == ["spec.template.spec.runtimeClassName"]


async def test_what_is_refused_for_its_sandbox_misses_no_notes(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """The mutating pass noted nothing on it, since it is refused: nobody is told to try again."""
    runtime_class(profiled(namespace(folder, "required"), "wide", None))
    by = judge(folder.cluster(), engine)
    wrong = request(workload(runtimeClassName="other"), kind=DEPLOYMENT)
    assert (await mutated(by, wrong)).recorded == {}
    assert rules(await final(by, wrong)) == [("sandbox/required", None)]


async def test_a_template_is_set_only_by_its_authors_hand(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """Not at an update that leaves it, not in what a controller makes, not in what is owned."""
    runtime_class(profiled(namespace(folder, "required"), "wide", None))
    by = judge(folder.cluster(), engine)
    old, scaled = workload(), workload(replicas=3)
    kind: Any = {"kind": DEPLOYMENT}
    assert (await mutated(by, update(scaled, old, **kind))).filled == []
    changed = workload(priorityClassName="high")
    assert len((await mutated(by, update(changed, old, **kind))).filled) == 1
    above = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "o", "uid": "u"}
    child = workload(REPLICAS, above={**above, "controller": True})
    for subject in (DEPLOYMENTS, ALICE):
        asked = request(child, subject, kind=REPLICAS)
        assert (await mutated(by, asked)).filled == []


async def test_twice_is_once(engine: EmbeddedEngine, folder: Folder) -> None:
    """What has the class gets no patch."""
    runtime_class(profiled(namespace(folder, "required"), "wide", None))
    by = judge(folder.cluster(), engine)
    assert (await mutated(by, request(pod(runtimeClassName="gvisor")))).filled == []
    null = request(pod(runtimeClassName=None))
    assert (await mutated(by, null)).filled == SET
    job = request(workload(JOB, runtimeClassName="gvisor"), kind=JOB)
    assert (await mutated(by, job)).filled == []


async def test_a_pod_that_runs_is_not_patched(engine: EmbeddedEngine, folder: Folder) -> None:
    """Its class never changes: what is changed of it is refused."""
    runtime_class(profiled(namespace(folder, "required"), "wide", None))
    by = judge(folder.cluster(), engine)
    asked = update(pod(image=OTHER), pod())
    assert asked.operation is Operation.UPDATE
    assert (await mutated(by, asked)).filled == []
    assert rules(await final(by, asked)) == [("sandbox/required", None)]
