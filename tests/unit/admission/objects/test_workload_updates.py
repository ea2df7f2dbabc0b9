"""Updates of workloads: judged where a template changes, and never otherwise."""

import copy
from typing import Any

import pytest

from core.decision.decision import Decision, Verdict
from core.decision.request import Operation
from core.kubernetes.workload_kinds import GroupKind
from policies.engine.embedded_engine import EmbeddedEngine
from tests.unit.admission.objects.test_workloads import DEPLOYMENT, asked, judged, template
from tests.unit.admission.world import BOB, Folder, decide
from tests.unit.core.kubernetes.workload_samples import Json, wrapped


async def updated(
    engine: EmbeddedEngine, folder: Folder, old: Json, new: Json, **more: Any
) -> Decision:
    """Return the decision on BOB's update, who may use nothing."""
    return await judged(
        engine, folder, DEPLOYMENT, new, subject=BOB, old=old, operation=Operation.UPDATE, **more
    )


CHANGED: dict[str, Any] = {
    "replicas": lambda made: made["spec"].update(replicas=7),
    "paused": lambda made: made["spec"].update(paused=True),
    "labels": lambda made: made["metadata"].update(labels={"a": "b"}),
    "finalizers": lambda made: made["metadata"].update(finalizers=[]),
    "restart": lambda made: made["spec"]["template"]["metadata"].update(
        annotations={"kubectl.kubernetes.io/restartedAt": "now"}
    ),
}

ROLLED: dict[str, Any] = {
    "command": lambda pods: pods["spec"]["containers"][0].update(command=["sh"]),
    "image": lambda pods: pods["spec"]["containers"][0].update(image="example.org/x"),
    "account": lambda pods: pods["spec"].update(serviceAccountName="other"),
    "label": lambda pods: pods["metadata"]["labels"].update(b="c"),
    "annotation": lambda pods: pods["metadata"].update(annotations={"x": "y"}),
    "host": lambda pods: pods["spec"].update(hostNetwork=True),
}


@pytest.mark.parametrize("change", CHANGED)
async def test_an_update_that_changes_no_pod_is_left_alone(
    change: str, engine: EmbeddedEngine, folder: Folder
) -> None:
    """Whoever asks, also of what would be refused today."""
    old = wrapped(DEPLOYMENT, template(hostPID=True))
    new = copy.deepcopy(old)
    CHANGED[change](new)
    decision = await updated(engine, folder, old, new)
    assert decision.verdict is Verdict.ALLOW
    assert decision.evidence.left_alone == "the update changes no Pod template"


@pytest.mark.parametrize("change", ROLLED)
async def test_an_update_of_a_template_is_judged_for_who_asks(
    change: str, engine: EmbeddedEngine, folder: Folder
) -> None:
    """Also where policies see no difference: another command runs under the same profile."""
    old = wrapped(DEPLOYMENT, template(hostPID=True))
    new = copy.deepcopy(old)
    ROLLED[change](new["spec"]["template"])
    decision = await updated(engine, folder, old, new)
    assert decision.verdict is Verdict.DENY
    assert decision.subjects == [BOB.label]


async def test_what_is_broken_can_be_mended_and_deleted(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """An old object has no shape to be demanded; a new one has only where it changes."""
    folder.profile("good", 10).grant("User:bob@example.com", "good")
    broken = wrapped(DEPLOYMENT, template())
    broken["spec"]["template"] = "none"
    last = copy.deepcopy(broken)
    last["metadata"]["finalizers"] = []
    assert (await updated(engine, folder, broken, last)).verdict is Verdict.ALLOW
    mended = wrapped(DEPLOYMENT, template())
    assert (await updated(engine, folder, broken, mended)).verdict is Verdict.ALLOW
    again = await updated(engine, folder, mended, broken)
    assert (again.verdict, again.field) == (Verdict.ERROR, "spec.template")


async def test_status_and_scale_are_left_alone(engine: EmbeddedEngine, folder: Folder) -> None:
    """A direct call of the gate gets no other answer than kube-apiserver's."""
    made = wrapped(DEPLOYMENT, template(hostPID=True))
    decision = await updated(
        engine, folder, wrapped(DEPLOYMENT, template()), made, subresource="status"
    )
    assert decision.verdict is Verdict.ALLOW
    deleted = asked(DEPLOYMENT, None, BOB, old=made, operation=Operation.DELETE)
    assert (await decide(folder.cluster(), engine, deleted)).verdict is Verdict.ALLOW


SAYS: list[tuple[GroupKind, str, object]] = [
    (("ray.io", "RayJob"), "spec.entrypoint", "python other.py"),
    (("ray.io", "RayJob"), "spec.runtimeEnvYAML", "pip: [other]"),
    (("ray.io", "RayJob"), "spec.rayClusterSpec.headGroupSpec.rayStartParams", {"a": "$(other)"}),
    (("ray.io", "RayCronJob"), "spec.jobTemplate.entrypoint", "python other.py"),
    (("ray.io", "RayService"), "spec.serveConfigV2", "applications: []"),
    (("ray.io", "RayCluster"), "spec.autoscalerOptions", {"image": "example.org/other"}),
    (("sparkoperator.k8s.io", "SparkApplication"), "spec.mainApplicationFile", "other.py"),
    (("sparkoperator.k8s.io", "ScheduledSparkApplication"), "spec.template.sparkConf", {"a": "b"}),
    (("flink.apache.org", "FlinkDeployment"), "spec.job.jarURI", "local:///other.jar"),
    (("argoproj.io", "WorkflowTemplate"), "spec.podSpecPatch", "{}"),
    (("argoproj.io", "CronWorkflow"), "spec.workflowSpec.arguments", {"parameters": []}),
    (("batch.volcano.sh", "Job"), "spec.plugins", {"ssh": []}),
]
"""What is no template, and says what Pods run."""

WAITING: list[tuple[GroupKind, str, object]] = [
    (("ray.io", "RayCluster"), "spec.suspend", True),
    (("ray.io", "RayJob"), "spec.ttlSecondsAfterFinished", 7),
    (("sparkoperator.k8s.io", "SparkApplication"), "spec.suspend", True),
    (("flink.apache.org", "FlinkDeployment"), "spec.restartNonce", 7),
    (("argoproj.io", "Workflow"), "spec.shutdown", "Stop"),
]


def changed(kind: GroupKind, path: str, value: object) -> tuple[Json, Json]:
    """Return a workload, and the same with another value at a path."""
    old = wrapped(kind, template())
    new = copy.deepcopy(old)
    *steps, last = path.split(".")
    below = new
    for step in steps:
        below = below.setdefault(step, {})
    below[last] = value
    return old, new


async def of_bob(
    engine: EmbeddedEngine, folder: Folder, kind: GroupKind, old: Json, new: Json
) -> Decision:
    """Return the decision on BOB's update, who may use nothing."""
    return await judged(engine, folder, kind, new, subject=BOB, old=old, operation=Operation.UPDATE)


@pytest.mark.parametrize(("kind", "path", "value"), SAYS)
async def test_what_an_operator_runs_is_judged_for_who_changes_it(
    kind: GroupKind, path: str, value: object, engine: EmbeddedEngine, folder: Folder
) -> None:
    """The templates stay, but their Pods would run what their author did not ask for."""
    decision = await of_bob(engine, folder, kind, *changed(kind, path, value))
    assert (decision.evidence.left_alone, decision.subjects[0]) == ("", BOB.label)


@pytest.mark.parametrize(("kind", "path", "value"), WAITING)
async def test_what_an_operator_runs_when_is_left_alone(
    kind: GroupKind, path: str, value: object, engine: EmbeddedEngine, folder: Folder
) -> None:
    """Stopping, restarting and queueing are not for authors alone."""
    decision = await of_bob(engine, folder, kind, *changed(kind, path, value))
    assert decision.evidence.left_alone == "the update changes no Pod template"


async def test_rays_autoscaler_scales(engine: EmbeddedEngine, folder: Folder) -> None:
    """It changes replicas, with the rights of the Pod that it runs in."""
    old = wrapped(("ray.io", "RayCluster"), template())
    new = copy.deepcopy(old)
    new["spec"]["workerGroupSpecs"][0] |= {"replicas": 7, "scaleStrategy": {"workersToDelete": []}}
    decision = await of_bob(engine, folder, ("ray.io", "RayCluster"), old, new)
    assert decision.evidence.left_alone == "the update changes no Pod template"
