"""What is larger than any real object is an error that says so; what is large waits its turn."""

import asyncio
import json
from typing import Any

import pytest

from admission.gather import Gatherer
from admission.judge import Judge
from admission.objects.reader import UNCHANGED
from admission.objects.size_limits import (
    LARGE_VALUES,
    MAX_POD_VALUES,
    MAX_SKIPPED_VALUES,
    MAX_TEMPLATE_CONTAINERS,
    MAX_VALUES,
    MAX_VALUES_OF_ONE,
    MAX_VALUES_OF_OURS,
)
from core.base import names
from core.base.fair_queue import FairQueue, Flow
from core.base.json_values import count_values
from core.decision.decision import Decision, Verdict
from core.decision.namespaces import Mode
from core.decision.request import Kind, Phase
from identity.subjects import parse_controllers
from policies.engine.embedded_engine import EmbeddedEngine
from tests.unit.admission.world import NAMESPACE, POD, Folder, decide, pod, request, update
from tests.unit.core.kubernetes.workload_samples import wrapped

WORKFLOW = ("argoproj.io", "Workflow")
JOB_SET = ("jobset.x-k8s.io", "JobSet")
DEPLOYMENT = Kind("Deployment", "v1", "apps")
VOLUME = Kind("PersistentVolume", "v1")
POLICY = Kind("NetworkPolicy", "v1", "networking.k8s.io")
ROLE = Kind("ClusterRole", "v1", "rbac.authorization.k8s.io")
APPROVAL = Kind("Approval", "v1alpha1", names.GROUP)
WIDGET = Kind("Widget", "v1", "example.org")


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (POD, MAX_POD_VALUES + 1),
        (DEPLOYMENT, MAX_VALUES + 1),
        (VOLUME, 10_001),
        (POLICY, MAX_VALUES + 1),
        (NAMESPACE, 10_001),
        (APPROVAL, MAX_VALUES_OF_OURS + 1),
        (ROLE, 20_001),
    ],
    ids=lambda each: each.kind if isinstance(each, Kind) else "",
)
async def test_an_object_of_too_many_values_is_an_error_that_counts_them(
    kind: Kind, values: int, engine: EmbeddedEngine, folder: Folder
) -> None:
    """Whatever it is of: it is not read."""
    asked = request(pod(), kind=kind, value_count=values, phase=Phase.VALIDATING)
    decision = await decide(folder.cluster(), engine, asked)
    assert decision.verdict is Verdict.ERROR
    assert f"object: holds about {values:,} values; more than" in decision.reason
    assert not decision.allowed


@pytest.mark.parametrize("counts", [(MAX_VALUES_OF_ONE + 1, 0), (0, MAX_VALUES_OF_ONE + 1)])
async def test_update_with_one_object_of_too_many_values_is_an_error(
    counts: tuple[int, int], engine: EmbeddedEngine, folder: Folder
) -> None:
    """Each object is read in one step."""
    new, old = ({**pod(), "x": [0] * count} for count in counts)
    total = count_values(json.dumps([new, old]).encode())
    asked = update(new, old, kind=DEPLOYMENT, value_count=total)
    decision = await decide(folder.cluster(), engine, asked)
    assert decision.verdict is Verdict.ERROR
    assert f"more than {MAX_VALUES_OF_ONE:,} are not judged" in decision.reason


async def test_what_is_just_not_too_large_is_judged(engine: EmbeddedEngine, folder: Folder) -> None:
    """The limit itself is fine."""
    folder.profile("good", 10).grant("Group:researchers", "good")
    decision = await decide(folder.cluster(), engine, request(pod(), value_count=MAX_POD_VALUES))
    assert decision.verdict is Verdict.ALLOW


async def test_a_large_object_of_an_unlisted_kind_is_left_to_its_pods(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """Its Pods are judged in any case: to refuse it would stop its operator."""
    made = {"spec": {"template": {"spec": pod(hostNetwork=True)["spec"]}}}
    for values in (MAX_VALUES + 1, MAX_SKIPPED_VALUES + 1):
        asked = request(made, kind=WIDGET, value_count=values, phase=Phase.VALIDATING)
        decision = await decide(folder.cluster(), engine, asked)
        assert decision.verdict is Verdict.ALLOW
        assert decision.evidence.left_alone == "it holds too much to be searched for Pod templates"


@pytest.mark.parametrize("mode", [Mode.AUDIT, Mode.WARN])
@pytest.mark.parametrize(
    ("kind", "values", "enrolled", "allowed"),
    [
        (POLICY, MAX_VALUES + 1, True, False),
        (POLICY, MAX_VALUES + 1, False, True),
        (POD, MAX_POD_VALUES + 1, True, False),
        (POD, MAX_POD_VALUES + 1, False, False),
        (DEPLOYMENT, MAX_VALUES + 1, True, True),
    ],
    ids=lambda each: each.kind if isinstance(each, Kind) else "",
)
async def test_what_could_open_egress_is_refused_for_its_size_in_every_mode(  # noqa: PLR0913  A row of the table.
    kind: Kind,
    values: int,
    mode: Mode,
    engine: EmbeddedEngine,
    folder: Folder,
    *,
    enrolled: bool,
    allowed: bool,
) -> None:
    """As what was looked at is: nobody knows what the object opens, or which labels it has."""
    folder.documents.append(
        {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {
                "name": "train",
                "labels": {"sallyport.dev/egress": "deny"} if enrolled else {},
            },
        }
    )
    asked = request(pod(), kind=kind, value_count=values, phase=Phase.VALIDATING)
    decision = await decide(folder.cluster(), engine, asked, mode=mode)
    assert (decision.verdict, decision.allowed) == (Verdict.ERROR, allowed)


@pytest.mark.parametrize("is_stopped", [False, True])
async def test_a_workflow_with_a_large_status_goes_on_and_can_be_stopped(
    engine: EmbeddedEngine, folder: Folder, *, is_stopped: bool
) -> None:
    """Of what its controller notes nothing is judged, so that it is not counted."""
    folder.profile("good", 10).grant("Group:researchers", "good")
    old = wrapped(WORKFLOW, {"spec": pod()["spec"]})
    old["metadata"]["managedFields"] = [{"fieldsV1": {f"f:{n}": {} for n in range(10_000)}}]
    old["status"] = {"nodes": {f"n{n}": {"phase": "Running"} for n in range(20_000)}}
    new = {**old, "status": {"nodes": {}}}
    if is_stopped:
        new["spec"] = {**old["spec"], "shutdown": "Stop"}
    kind = Kind(WORKFLOW[1], "v1alpha1", WORKFLOW[0])
    count = count_values(json.dumps([old, new]).encode())
    assert count > MAX_VALUES
    decision = await decide(
        folder.cluster(), engine, update(new, old, kind=kind, value_count=count)
    )
    assert decision.verdict is not Verdict.ERROR, decision.reason


async def test_too_many_containers_in_all_templates_are_an_error(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """It names the template with which they are too many."""
    spec = pod()["spec"]
    spec["containers"] = [spec["containers"][0] | {"name": f"c{n}"} for n in range(100)]
    made = wrapped(JOB_SET, {"spec": spec})
    made["spec"]["replicatedJobs"] *= MAX_TEMPLATE_CONTAINERS // 100 + 1
    decision = await decide(
        folder.cluster(), engine, request(made, kind=Kind(JOB_SET[1], "v1alpha2", JOB_SET[0]))
    )
    assert decision.verdict is Verdict.ERROR
    assert decision.field == "spec.replicatedJobs[10].template.spec.template"
    assert decision.reason.endswith(
        "brings the object's containers to 1100; more than 1000 are not judged"
    )


def many_containers() -> dict[str, Any]:
    """Return a Pod whose projection is large."""
    made = pod()
    first = made["spec"]["containers"][0]
    made["spec"]["containers"] = [first | {"name": f"c{n}"} for n in range(100)]
    return made


@pytest.mark.parametrize(
    ("made", "values"), [(pod(), LARGE_VALUES + 1), (many_containers(), 0)], ids=["read", "asked"]
)
async def test_what_is_large_waits_its_turn_and_others_do_not(
    made: Any, values: int, engine: EmbeddedEngine, folder: Folder
) -> None:
    """Large to be read, or to be evaluated; an ordinary Pod is decided meanwhile."""
    folder.profile("good", 10).grant("Group:researchers", "good")
    turns = FairQueue(1, 10)
    judge = Judge(Gatherer(folder.cluster(), engine, parse_controllers([]), seats=turns))

    async def decided(asked: Any, values: int) -> Decision:
        return await judge.validate(request(asked, value_count=values), budget=5.0)

    async with turns.seat(Flow("other")):
        large = asyncio.create_task(decided(made, values))
        ordinary = await decided(pod(), 0)
        assert ordinary.verdict is Verdict.ALLOW
        await asyncio.sleep(0.1)
        assert not large.done()
        assert turns.waiting == 1
    assert (await large).verdict is Verdict.ALLOW


async def test_a_turn_that_does_not_come_in_time_is_an_error(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """As is too much that waits of one namespace: both say so, and neither is a denial."""
    turns = FairQueue(1, 1)
    judge = Judge(Gatherer(folder.cluster(), engine, parse_controllers([]), seats=turns))
    asked = request(pod(), value_count=LARGE_VALUES + 1)
    async with turns.seat(Flow("other")):
        late = asyncio.create_task(judge.validate(asked, budget=0.3))
        await asyncio.sleep(0.05)
        refused = await judge.validate(asked, budget=0.3)
        assert (refused.verdict, refused.error_kind) == (Verdict.ERROR, "overload")
        assert "1 requests of namespace train wait already" in refused.reason
        assert (await late).error_kind == "deadline"
    assert turns.waiting == 0


def too_many_containers() -> dict[str, Any]:
    """Return a Pod of a release that judged more containers."""
    made = pod()
    first = made["spec"]["containers"][0]
    made["spec"]["containers"] = [first | {"name": f"c{n}"} for n in range(129)]
    return made


@pytest.mark.parametrize("values", [0, MAX_POD_VALUES + 1])
async def test_a_pod_that_is_too_large_now_can_still_end(
    values: int, engine: EmbeddedEngine, folder: Folder
) -> None:
    """Its finalizers and its status go by updates that change nothing that is judged."""
    old = too_many_containers()
    ended = {**old, "metadata": {**old["metadata"], "finalizers": []}, "status": {"phase": "x"}}
    cluster = folder.cluster()
    decision = await decide(cluster, engine, update(ended, old, value_count=values))
    assert (decision.verdict, decision.evidence.left_alone) == (Verdict.ALLOW, UNCHANGED)
    changed = {**old, "metadata": {**old["metadata"], "labels": {"a": "b"}}}
    decision = await decide(cluster, engine, update(changed, old, value_count=values))
    assert decision.verdict is Verdict.ERROR
