"""Kinds of operators by their own schemas: judged as the bare Pod with the template as stored."""

import asyncio
import copy
import re
from http import HTTPStatus
from typing import Final

import pytest

from core.kubernetes.pod_templates import PodTemplate
from core.kubernetes.workload_kinds import OPERATORS, WORKLOADS, GroupKind
from core.kubernetes.workload_pods import templates_of
from tests.api.workloads.conftest import TRAIN
from tests.harness.programs.client import Answer, ApiStatusError, Client, Json, connect
from tests.harness.programs.guarded_apiserver import Installation
from tests.harness.published.crds import UNPUBLISHED, installable
from tests.harness.worlds.rbac import grant, rule, use_of, user
from tests.unit.core.kubernetes.workload_samples import merged, wrapped

_TRAINER: Final = {"template": {"spec": {"replicatedJobs": [{"name": "node"}]}}}
_RAY: Final = {
    "headGroupSpec": {"rayStartParams": {}},
    "workerGroupSpecs": [
        {
            "groupName": "workers",
            "replicas": 1,
            "minReplicas": 0,
            "maxReplicas": 1,
            "rayStartParams": {},
        }
    ],
}
_RAY_JOB: Final = {"entrypoint": "python train.py", "rayClusterSpec": _RAY}
_SPARK: Final = {
    "type": "Python",
    "mode": "cluster",
    "sparkVersion": "4.0.0",
    "mainApplicationFile": "local:///train.py",
    "driver": {},
    "executor": {},
}

REQUIRED: Final[dict[GroupKind, Json]] = {
    ("trainer.kubeflow.org", "TrainingRuntime"): _TRAINER,
    ("trainer.kubeflow.org", "ClusterTrainingRuntime"): _TRAINER,
    ("ray.io", "RayCluster"): _RAY,
    ("ray.io", "RayJob"): _RAY_JOB,
    ("ray.io", "RayCronJob"): {"schedule": "0 0 * * *", "jobTemplate": _RAY_JOB},
    ("ray.io", "RayService"): {"rayClusterConfig": _RAY},
    ("jobset.x-k8s.io", "JobSet"): {"replicatedJobs": [{"name": "workers"}]},
    ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"): {"leaderWorkerTemplate": {"size": 2}},
    ("batch.volcano.sh", "Job"): {"tasks": [{"name": "workers", "replicas": 1}]},
    ("sparkoperator.k8s.io", "SparkApplication"): _SPARK,
    ("sparkoperator.k8s.io", "ScheduledSparkApplication"): {
        "schedule": "@daily",
        "template": _SPARK,
    },
    ("argoproj.io", "CronWorkflow"): {"schedules": ["0 0 * * *"]},
}
"""What a kind's `spec` must have besides its templates."""


def public_sample(kind: GroupKind, version: str, template: Json) -> Json:
    """Return an object of a kind whose every place holds a template."""
    made = merged(wrapped(kind, template), {"spec": REQUIRED.get(kind, {})})
    made["apiVersion"] = f"{kind[0]}/{version}"
    made["metadata"] |= {"name": "sample"}
    if WORKLOADS[kind].namespaced:
        made["metadata"]["namespace"] = TRAIN
    if kind[1] == "AppWrapper":
        made["spec"]["components"][0]["template"]["metadata"] = {"name": "within"}
    return made


STRICT = "strict"
"""A namespace where nothing but `restricted` counts, so that the whole catalogue is compared."""
PRINCIPAL = "patricia"

CONTAINER: Json = {
    "name": "main",
    "image": f"registry.example/train@sha256:{64 * 'a'}",
    "resources": {"limits": {"memory": "1Gi", "cpu": "1", "ephemeral-storage": "1Gi"}},
    "securityContext": {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "readOnlyRootFilesystem": True,
        "runAsNonRoot": True,
        "seccompProfile": {"type": "RuntimeDefault"},
    },
}
GOOD: Json = {"automountServiceAccountToken": False, "containers": [CONTAINER]}

_OWN = "spec.containers[0].securityContext"
BAD: dict[str, tuple[str, Json, Json]] = {
    "a folder of the node": (
        "spec.volumes[0].hostPath",
        {"volumes": [{"name": "node", "hostPath": {"path": "/etc"}}]},
        {"volumeMounts": [{"name": "node", "mountPath": "/node"}]},
    ),
    "the node's network": ("spec.hostNetwork", {"hostNetwork": True}, {}),
    "a port of the node": (
        "spec.containers[0].ports[0].hostPort",
        {},
        {"ports": [{"containerPort": 8080, "hostPort": 8080, "protocol": "TCP"}]},
    ),
    "privileged": (
        f"{_OWN}.privileged",
        {},
        {"securityContext": {"privileged": True, "allowPrivilegeEscalation": True}},
    ),
    "a capability": (
        f"{_OWN}.capabilities.add",
        {},
        {"securityContext": {"capabilities": {"drop": ["ALL"], "add": ["NET_ADMIN"]}}},
    ),
    "root": (f"{_OWN}.runAsUser", {}, {"securityContext": {"runAsUser": 0}}),
    # Younger than some schemas are: Kubernetes 1.30.
    "no AppArmor": (
        f"{_OWN}.appArmorProfile",
        {},
        {"securityContext": {"appArmorProfile": {"type": "Unconfined"}}},
    ),
    "an image without a digest": (
        "spec.containers[0].image",
        {},
        {"image": "registry.example/train:latest"},
    ),
}
"""What is wrong: the field that says so, and what is different in the Pod and its container."""


def template(*wrongs: str) -> Json:
    """Return a Pod template with these things wrong."""
    spec = copy.deepcopy(GOOD)
    for wrong in wrongs:
        _, of_pod, of_container = BAD[wrong]
        spec |= copy.deepcopy(of_pod)
        (container,) = spec["containers"]
        own = container["securityContext"] | of_container.get("securityContext", {})
        container |= copy.deepcopy(of_container) | {"securityContext": own}
    return {"spec": spec}


def placed(item: Json, namespace: str) -> Json:
    """Return an object in a namespace, unless it belongs to none."""
    if "namespace" in item["metadata"]:
        item["metadata"]["namespace"] = namespace
    return item


def needs(answer: Answer) -> set[str]:
    """Return the privileges that a refusal names."""
    return set(re.findall(r"; privilege ([^,\s]+),", answer.message))


def paths(answer: Answer) -> set[str]:
    """Return the fields that a refusal names."""
    first = re.findall(r"^\d+\. (\S+?)(?: \(container \w+\))?: ", answer.message, re.MULTILINE)
    others = re.findall(r"^   also at: (.*)$", answer.message, re.MULTILINE)
    return {*first, *(path for line in others for path in line.split(", "))}


PUBLIC = [each.group_kind for each in OPERATORS if each.group_kind not in UNPUBLISHED]
VERSIONS = [
    (kind, version)
    for kind in PUBLIC
    if WORKLOADS[kind].places
    for version in WORKLOADS[kind].versions
]

PRUNED = {"serving.knative.dev": {"a port of the node", "no AppArmor"}}
"""By group: what its schema has no field for, so that no object can have it."""


@pytest.fixture(scope="module")
def served(installation: Installation) -> None:
    """All public definitions in the cluster, and a namespace where only `restricted` counts."""
    with asyncio.Runner() as runner:
        runner.run(_serve(installation))


async def _serve(installation: Installation) -> None:
    definitions = [installable(kind) for kind in PUBLIC]
    async with connect(installation.apiserver) as admin:
        await asyncio.gather(*(admin.create(each) for each in definitions))
        ceiling = {"name": STRICT, "annotations": {"sallyport.dev/ceiling": "restricted"}}
        await admin.apply([{"apiVersion": "v1", "kind": "Namespace", "metadata": ceiling}])
        await admin.create_namespace(TRAIN)
        await admin.create_service_account("default", STRICT)
        works = rule(["", *sorted({group for group, _ in PUBLIC})], "*", "*")
        for namespace in (STRICT, TRAIN, None):
            await admin.apply(grant("works", works, user(PRINCIPAL), namespace=namespace))
        use = grant("uses", use_of("restricted"), user(PRINCIPAL), namespace=STRICT)
        await admin.apply(use)
        resource = {"group": "sallyport.dev", "resource": "containerprofiles"}
        person = admin.as_user(PRINCIPAL)
        await person.wait_until_can("use", {**resource, "name": "restricted", "namespace": STRICT})
        for kind, version in VERSIONS:
            await admin.wait_for_kind(f"{kind[0]}/{version}", kind[1])


@pytest.fixture
def person(served: None, admin: Client) -> Client:
    """Who may do everything in the strict namespace but what `restricted` does not cover."""
    return admin.as_user(PRINCIPAL)


def namespace_of(kind: GroupKind) -> str:
    """Return the namespace whose rules hold for a kind: cluster-scoped ones have no ceiling."""
    return STRICT if WORKLOADS[kind].namespaced else TRAIN


def bare(kind: GroupKind, spec: Json) -> Json:
    """Return the Pod with a template's spec."""
    metadata = {"name": "bare", "namespace": namespace_of(kind)}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def first_pod(kind: GroupKind, item: Json) -> PodTemplate:
    """Return the first Pod that an object would make."""
    return next(each for each in templates_of(*kind, item) if each.says("spec.containers[0].image"))


async def strictly(client: Client, kind: GroupKind, item: Json) -> tuple[int, str]:
    """Return status and message of a trial creation that refuses what would be pruned."""
    parts = ["/apis", item["apiVersion"], WORKLOADS[kind].resource]
    if WORKLOADS[kind].namespaced:
        parts[2:2] = ["namespaces", item["metadata"]["namespace"]]
    parameters = {"dryRun": "All", "fieldValidation": "Strict"}
    status, body = await client.request("POST", "/".join(parts), item, parameters=parameters)
    return status, str(body.get("message", ""))


@pytest.mark.parametrize(("kind", "version"), VERSIONS, ids=str)
async def test_the_verdict_is_that_of_the_bare_pod(
    kind: GroupKind, version: str, admin: Client, person: Client
) -> None:
    """Good or bad in any way: as the Pod with what kube-apiserver keeps of the template."""

    def sample(*wrongs: str, namespace: str = STRICT) -> Json:
        return placed(public_sample(kind, version, template(*wrongs)), namespace)

    assert await strictly(person, kind, sample()) == (HTTPStatus.CREATED, "")
    kept = (await admin.dry_run(sample(*BAD, namespace=TRAIN))).body
    pod = first_pod(kind, kept)
    pruned = {wrong for wrong, (path, _, _) in BAD.items() if not pod.says(path)}
    assert pruned == PRUNED.get(kind[0], set())
    alike = await person.dry_run(bare(kind, pod.pod["spec"]))
    answer = await person.dry_run(sample(*BAD))
    assert (answer.outcome, needs(answer)) == (alike.outcome, needs(alike)), answer.message
    assert paths(answer) == {
        each.place(path)
        for each in templates_of(*kind, kept)
        for path in paths(alike)
        if each.says("spec.volumes[0]")  # Spark's fields besides its templates make no Pod of it.
    }
    for wrong in BAD:
        alone = await person.dry_run(sample(wrong))
        alike = await person.dry_run(bare(kind, template(*({wrong} - pruned))["spec"]))
        assert (alone.outcome, needs(alone)) == (alike.outcome, needs(alike)), alone.message


async def test_what_a_schema_does_not_have_is_neither_judged_nor_kept(
    admin: Client, person: Client
) -> None:
    """A port of the node in a Knative Service: taken, since what is stored does not have it."""
    kind = ("serving.knative.dev", "Service")
    bad = placed(public_sample(kind, "v1", template("a port of the node")), STRICT)
    status, message = await strictly(person, kind, bad)
    assert status == HTTPStatus.BAD_REQUEST
    assert 'unknown field "spec.template.spec.containers[0].ports[0].hostPort"' in message
    made = await person.create(bad)
    try:
        kept = await admin.get("serving.knative.dev/v1", "Service", "sample", STRICT)
        (port,) = first_pod(kind, kept).pod["spec"]["containers"][0]["ports"]
        assert port == {"containerPort": 8080, "protocol": "TCP"}
        privileged = {"spec": {"template": template("privileged")}}
        with pytest.raises(ApiStatusError, match="container/privileged"):
            await person.patch(made, privileged)
    finally:
        await admin.delete(made)
