"""Who submits Pods that must be sandboxed is warned where the sandbox's nodes cannot take them."""

from typing import Any, Final

import pytest

from core.decision.decision import Decision, Verdict
from core.decision.request import Phase, Request
from core.sandbox.capacity import Capacity, NodeShape, Taint, encode_capacity
from policies.engine.embedded_engine import EmbeddedEngine
from sandbox.runtime_choice import SandboxSettings
from tests.unit.admission.requester.test_noted_workloads import (
    DEPLOYMENT,
    JOB,
    REPLICAS,
    asked,
    notes,
)
from tests.unit.admission.requester.test_noted_workloads import workload as any_workload
from tests.unit.admission.sandbox.sandbox_cluster import (
    final,
    judge,
    labelled,
    mutated,
    namespace,
    profiled,
    runtime_class,
)
from tests.unit.admission.world import ID, Folder, request, update
from tests.unit.admission.world import pod as any_pod

LAST: Final = f"Ask for fewer or smaller Pods, or for more nodes; decision {ID}"
NODE: Final = {"cpu": 8000, "memory": 32 << 30, "pods": 110}
HALF: Final = {"cpu": 4000, "memory": 16 << 30, "pods": 100}
GPU: Final = "nvidia.com/gpu"
NOON: Final = 1_800_014_400.0
"""12:00 UTC."""


def pool(*shapes: NodeShape, **left_out: int) -> Capacity:
    """Return a pool."""
    return Capacity(NOON, sum(shape.count for shape in shapes), shapes, left_out)


def busy(count: int = 3) -> Capacity:
    """Return nodes of which half is taken."""
    return pool(NodeShape(count, NODE, HALF))


def world(folder: Folder, mode: str = "enforce", **pools: Capacity | str) -> Folder:
    """Write a namespace in which all must be sandboxed, and what is known of the nodes."""
    runtime_class(profiled(namespace(folder, "required", mode), "wide", None))
    texts = {
        name: one if isinstance(one, str) else encode_capacity(one) for name, one in pools.items()
    }
    metadata = {"name": "sallyport-sandbox-capacity", "namespace": "sallyport-system"}
    document = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": texts}
    folder.documents.append(document)
    return folder


def pod(**spec: Any) -> dict[str, Any]:
    """Return a Pod that can run in the sandbox: user namespaces keep one from it."""
    return any_pod(**{"hostUsers": None} | spec)


def workload(*of: Any, **spec: Any) -> dict[str, Any]:
    """Return a workload of such Pods."""
    return any_workload(*of, **{"hostUsers": None} | spec)


def gang(replicas: int, *, cpu: str = "2", **spec: Any) -> dict[str, Any]:
    """Return a Deployment, noted as the mutating pass notes it, of Pods that ask for CPU."""
    made = workload(annotations=notes(profile="wide"), replicas=replicas, **spec)
    container = made["spec"]["template"]["spec"]["containers"][0]
    container["resources"] = {"requests": {"cpu": cpu}}
    return made


async def warned(folder: Folder, engine: EmbeddedEngine, review: Request) -> list[str]:
    """Judge the final state of what is admitted; give the warnings."""
    decision = await final(judge(folder.cluster(), engine), review)
    assert decision.verdict is Verdict.ALLOW, decision.message
    return decision.warnings


async def test_with_the_numbers(engine: EmbeddedEngine, folder: Folder) -> None:
    """How many fit now, how many when the nodes are empty, and since when that is known."""
    world(folder, gvisor=busy())
    first = "sandbox gvisor: at most 6 of 64 Pods fit now, 12 when empty (3 nodes, 12:00 UTC)"
    assert await warned(folder, engine, asked(gang(64))) == [first, LAST]
    assert await warned(folder, engine, asked(gang(6))) == []


async def test_full_sandbox_pool_changes_no_verdict(engine: EmbeddedEngine, folder: Folder) -> None:
    """A full pool is no finding: the same object gets the same verdict on another day."""
    decisions: list[Decision] = []
    for one in (busy(), pool()):
        folder.documents.clear()
        folder.grant("Group:system:authenticated", "pss-restricted")
        by = judge(world(folder, gvisor=one).cluster(), engine)
        decisions.append(await final(by, asked(gang(6))))
    assert [bool(each.warnings) for each in decisions] == [False, True]
    assert [(each.verdict, each.allowed) for each in decisions] == 2 * [(Verdict.ALLOW, True)]
    assert [each.findings for each in decisions] == [[], []]


@pytest.mark.parametrize(
    ("one", "first"),
    [
        (
            busy(),
            "its Pods never fit: one asks for 16 cpu, the largest has 8 (3 nodes, 12:00 UTC)",
        ),
        (pool(cordoned=2), "no node is ready, so its Pods wait (0 nodes, 2 cordoned, 12:00 UTC)"),
        (
            pool(NodeShape(1, NODE | {"cpu": 90_000, "pods": 0}, {}), NodeShape(1, NODE, {})),
            "its Pods never fit: no node has all that one asks for (2 nodes, 12:00 UTC)",
        ),
        (
            pool(NodeShape(1, NODE | {"cpu": 90_000}, {}, (Taint("x", "NoSchedule"),))),
            "its Pods never fit: they tolerate the taints of no node (1 node, 12:00 UTC)",
        ),
    ],
)
async def test_capacity_warning_names_the_resource_that_no_node_has(
    engine: EmbeddedEngine, folder: Folder, one: Capacity, first: str
) -> None:
    """Which resource is short, if it is one; how many nodes take no Pods."""
    world(folder, gvisor=one)
    said = await warned(folder, engine, asked(gang(2, cpu="16")))
    assert said == [f"sandbox gvisor: {first}", LAST]


async def test_a_gpu_that_no_node_has(engine: EmbeddedEngine, folder: Folder) -> None:
    """By its name, as a count."""
    world(folder, gvisor=busy())
    for each in folder.documents:
        if each["kind"] == "RuntimeClass":
            each["scheduling"] = {"nodeSelector": {"gpu": "yes"}}
    made = gang(1)
    made["spec"]["template"]["spec"]["containers"][0]["resources"] = {"limits": {GPU: 8}}
    by = judge(folder.cluster(), engine, SandboxSettings(gpu_label="gpu=yes"))
    (first, _) = (await final(by, asked(made))).warnings
    assert f"its Pods never fit: one asks for 8 {GPU}, the largest has 0" in first


async def test_every_line_is_short(engine: EmbeddedEngine, folder: Folder) -> None:
    """kube-apiserver cuts warnings that are long; 120 characters are never cut."""
    long = "g" * 253
    most = {"cpu": 10**9, "memory": 10**9 << 30, "pods": 10**6}
    shape = NodeShape(99_999, most, {})
    left_out = {"cordoned": 9999, "not-ready": 9999}
    pools: dict[str, Any] = {long: Capacity(NOON, 99_999, (shape,), left_out)}
    world(folder, **pools)
    runtime_class(folder, long)
    for made in (gang(10**6), gang(1, cpu="9" * 12)):
        decision = await final(
            judge(folder.cluster(), engine, SandboxSettings((long,))), asked(made)
        )
        assert len(decision.warnings) == 2
        assert all(len(line) < 120 for line in decision.warnings), decision.warnings


@pytest.mark.parametrize("count", [64, 65])
async def test_what_would_take_long_is_left_out(
    engine: EmbeddedEngine, folder: Folder, count: int
) -> None:
    """No real Pod has so many tolerations: the gate's time is not its author's to spend."""
    world(folder, gvisor=pool())
    made = gang(1, tolerations=[{"key": f"k{n}", "operator": "Exists"} for n in range(count)])
    assert bool(await warned(folder, engine, asked(made))) is (count == 64)


@pytest.mark.parametrize(("shapes", "taints", "warns"), [(128, 8, True), (1024, 64, False)])
async def test_a_summary_that_would_take_long_is_left_out(
    engine: EmbeddedEngine,
    folder: Folder,
    shapes: int,
    taints: int,
    warns: bool,  # noqa: FBT001
) -> None:
    """Nor is it spent by whoever may write the ConfigMap: `control` writes at most 128 shapes."""
    keys = [Taint(f"k{n}", "NoSchedule") for n in range(taints)]
    world(folder, gvisor=pool(*(NodeShape(1, NODE, HALF, tuple(keys)) for _ in range(shapes))))
    made = gang(1, cpu="16", tolerations=[{"key": key.key, "operator": "Exists"} for key in keys])
    assert bool(await warned(folder, engine, asked(made))) is warns


async def test_the_classes_overhead_counts(engine: EmbeddedEngine, folder: Folder) -> None:
    """Each Pod takes it besides its own requests."""
    world(folder, gvisor=busy())
    for each in folder.documents:
        if each["kind"] == "RuntimeClass":
            each["overhead"] = {"podFixed": {"cpu": "50m"}}
    (first, _) = await warned(folder, engine, asked(gang(6)))
    assert "at most 3 of 6 Pods fit now, 6 when empty" in first


async def test_a_pod_by_itself(engine: EmbeddedEngine, folder: Folder) -> None:
    """Its own requests, and what RuntimeClass admission has added; nobody places what is placed."""
    world(folder, gvisor=pool(NodeShape(1, NODE, {"pods": 9})))
    lone = pod(runtimeClassName="gvisor")
    (first, _) = await warned(folder, engine, request(lone))
    assert "at most 0 of 1 Pods fit now, 1 when empty" in first
    assert await warned(folder, engine, request(pod(nodeName="a", runtimeClassName="gvisor"))) == []


async def test_an_update_has_the_room_of_what_it_replaces(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """Only Pods that come on top need room that is free; nobody gets more than all of it."""
    world(folder, gvisor=pool(NodeShape(3, NODE, {"cpu": 1000, "pods": 9})))
    old = gang(12, runtimeClassName="gvisor")
    changed = gang(12, runtimeClassName="gvisor", priorityClassName="high")
    assert await warned(folder, engine, asked(changed, old=old)) == []
    more = gang(13, runtimeClassName="gvisor", priorityClassName="high")
    (first, _) = await warned(folder, engine, asked(more, old=old))
    assert "at most 0 of 1 Pods fit now, 12 when empty" in first
    moved = gang(12, runtimeClassName="plain")
    (first, _) = await warned(folder, engine, asked(changed, old=moved))
    assert "at most 0 of 12 Pods fit now" in first


async def test_what_runs_later_needs_only_nodes(engine: EmbeddedEngine, folder: Folder) -> None:
    """What is free now says nothing of a Job that waits in a queue."""
    world(folder, gvisor=pool(NodeShape(3, NODE, {})))
    made = gang(1) | {"apiVersion": "batch/v1", "kind": "Job"}
    made["spec"] = {"suspend": True, "parallelism": 12, "template": made["spec"]["template"]}
    assert await warned(folder, engine, asked(made, kind=JOB)) == []
    made["spec"]["parallelism"] = 13
    (first, _) = await warned(folder, engine, asked(made, kind=JOB))
    assert "at most 12 of 13 Pods fit even when it is empty (3 nodes" in first


async def test_nobody_is_warned_of_what_a_controller_makes(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """Nor in the mutating pass, nor of what runs, nor where nothing is sandboxed."""
    world(folder, gvisor=pool())
    by = judge(folder.cluster(), engine)
    above = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "o", "uid": "u"}
    child = workload(REPLICAS, above={**above, "controller": True})
    assert not (await final(by, request(child, kind=REPLICAS))).warnings
    assert not (await mutated(by, request(pod()))).warnings
    early = request(pod(), phase=Phase.MUTATING)
    assert not (await by.validate(early, budget=10)).warnings
    running = request(pod(runtimeClassName="gvisor"), running=True)
    assert not (await by.validate(running, budget=10)).warnings
    changed = update(pod(runtimeClassName="gvisor", add=["KILL"]), pod(runtimeClassName="gvisor"))
    assert not (await final(by, changed)).warnings
    reviewed = await by.validate(request(workload(), kind=DEPLOYMENT), budget=10)
    assert "no node is ready" in reviewed.message


@pytest.mark.parametrize("mode", ["warn", "audit"])
async def test_nobody_is_warned_where_nothing_is_set(
    engine: EmbeddedEngine, folder: Folder, mode: str
) -> None:
    """Namespaces that do not enforce get no class."""
    world(folder, mode, gvisor=pool())
    decision = await final(judge(folder.cluster(), engine), request(labelled("required")))
    assert not any("sandbox gvisor" in line for line in decision.warnings)


@pytest.mark.parametrize("pools", [{}, {"gvisor": "{"}, {"kata": busy(0)}])
async def test_without_a_summary_nothing_is_said(
    engine: EmbeddedEngine, folder: Folder, pools: dict[str, Any]
) -> None:
    """None, one that is broken, one of another class: nothing fails because of it."""
    world(folder, **pools)
    assert await warned(folder, engine, asked(gang(99))) == []


async def test_what_cannot_be_read_is_left_to_others(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """A quantity that is none: kube-apiserver refuses it, not the gate."""
    world(folder, gvisor=busy())
    assert await warned(folder, engine, asked(gang(99, cpu="many"))) == []


async def test_what_is_refused_gets_no_advice_about_room(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """It will not run anyway."""
    world(folder, gvisor=pool())
    wrong = pod(runtimeClassName="other")
    decision = await final(judge(folder.cluster(), engine), request(wrong))
    assert (decision.verdict, decision.warnings) == (Verdict.DENY, [])
    assert "no node" not in decision.message


async def test_warnings_of_privileges_to_come_are_said_first(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """Both are about what is admitted today."""
    world(folder, gvisor=pool())
    for each in folder.documents:
        if each["kind"] == "ContainerProfile":
            each["spec"] |= {"catalogue": 1, "privileges": ["capability/**"]}
    by = judge(folder.cluster(), engine)
    decision = await final(by, request(pod(runtimeClassName="gvisor")))
    assert decision.verdict is Verdict.WARN, decision.message
    assert "will refuse this once spec.catalogue" in decision.warnings[-3]
    assert decision.warnings[-2].startswith("sandbox gvisor: no node is ready")
    assert decision.warnings[-1] == LAST
