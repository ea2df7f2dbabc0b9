"""A cluster of this folder's own, with Kubernetes' controllers, and a gate that records."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from core.decision.document import is_final
from tests.harness.evidence import ROOT
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.availability import require
from tests.harness.programs.client import ApiStatusError, Client, Json, connect, read_objects
from tests.harness.programs.controller_manager import ControllerManager
from tests.harness.programs.guarded_apiserver import guarded
from tests.harness.programs.operators import JOBSET, KUBERAY
from tests.harness.worlds.rbac import grant, group, rule, use_of

NAMESPACE: Final = "noting"
OLD_NAMESPACE: Final = "noting-old"
"""Holds what was there before the gate was."""
PEOPLE: Final = "noting-people"
"""RBAC lets them do everything but `use`: only the gate refuses."""

REVISION: Final = "deployment.kubernetes.io/revision"
"""The annotation in which the Deployment controller counts templates."""

ANN_OID: Final = "11111111-2222-3333-4444-555555555555"
BEN_OID: Final = "99999999-8888-7777-6666-555555555555"
ANN: Final = f"oid:{ANN_OID}"
BEN: Final = f"oid:{BEN_OID}"

CONTROLLERS: Final = (
    "deployment-controller",
    "replicaset-controller",
    "statefulset-controller",
    "daemonset-controller",
    "job-controller",
    "cronjob-controller",
    "replicationcontroller-controller",
    "garbage-collector-controller",
    "horizontal-pod-autoscaler-controller",
)
WEBHOOKS: Final = (
    "validate.sallyport.dev",
    "mutate.sallyport.dev",
    "workloads.sallyport.dev",
    "notes.sallyport.dev",
)
YEAR_OLD: Final[Json] = {"plain": {}, "kept": {}, "strong": {"hostPID": True}}
"""Deployments that are made before any webhook is registered, and what is in their templates."""
_VERBS: Final = "get list watch create update patch delete"
_SEEN_S: Final = 60.0
_POLL_S: Final = 0.1


@dataclass(frozen=True)
class Installation:
    """A kube-apiserver whose workloads are judged, and where decisions are recorded."""

    apiserver: ApiServer
    log: Path

    def decisions(self, wanted: Callable[[Json], bool]) -> list[Json]:
        """Return the decisions so far that ended a request, and are wanted."""
        whole, _, _ = self.log.read_text(errors="replace").rpartition("\n")
        lines = whole.splitlines()
        documents = [json.loads(line) for line in lines if '"format":' in line]
        ends = [d for d in documents if is_final(d["source"], allowed=d["allowed"])]
        return [d for d in ends if wanted(d)]

    async def decision(self, wanted: Callable[[Json], bool], seconds: float = _SEEN_S) -> Json:
        """Return the first decision that is wanted, once it has been taken."""
        deadline = time.monotonic() + seconds
        while not (found := self.decisions(wanted)):
            if time.monotonic() > deadline:
                last = [(d["request"], d["verdict"]) for d in self.decisions(_any)[-5:]]
                raise TimeoutError(f"no such decision; the last: {last}")
            await asyncio.sleep(_POLL_S)
        return found[0]


def _any(_: Json) -> bool:
    return True


async def _install(client: Client) -> str:
    for file in sorted((ROOT / "helm/sallyport-crds/templates").glob("*.yaml")):
        await client.apply(read_objects(file))
    await client.wait_for_kind("sallyport.dev/v1alpha1", "ContainerProfile")
    for name in ("pss-privileged", "pss-baseline"):
        await client.apply(read_objects(ROOT / f"policies/profiles/{name}.yaml"))
    accounts = (f"system:serviceaccounts:{each}" for each in (NAMESPACE, OLD_NAMESPACE))
    everyone = (group(PEOPLE), *map(group, accounts))
    await client.apply(grant("noting-use", use_of("pss-baseline"), *everyone))
    await client.apply(grant("noting-all", rule(["*"], "*", _VERBS), group(PEOPLE)))
    await client.create_namespace("sallyport-system")
    for shipped in ("rbac.yaml", "revision-guard.yaml", "revision-owner-guard.yaml"):
        await client.apply(read_objects(ROOT / "deploy" / shipped))
    await client.create_service_account("sallyport-gate", "sallyport-system")
    for namespace in (NAMESPACE, OLD_NAMESPACE):
        await client.create_namespace(namespace)
    for name, spec in YEAR_OLD.items():
        made = workload("Deployment", name, template=template(name, **spec))
        made["metadata"]["namespace"] = OLD_NAMESPACE
        await client.create(made)
    await _wait_for_pods(client, len(YEAR_OLD))
    return await client.create_token("sallyport-gate", "sallyport-system")


async def _wait_for_pods(client: Client, count: int) -> None:
    path = f"/api/v1/namespaces/{OLD_NAMESPACE}/pods"
    deadline = time.monotonic() + _SEEN_S
    while len((await client.request("GET", path))[1]["items"]) < count:
        if time.monotonic() > deadline:
            raise TimeoutError(f"no {count} Pods in {OLD_NAMESPACE}")
        await asyncio.sleep(_POLL_S)


@pytest.fixture(scope="package")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """The cluster, its controllers, and the gate."""
    for program in ("etcd", "kube-apiserver", "kube-controller-manager"):
        require(program)
    apiserver = ApiServer(tmp_path_factory.mktemp("apiserver"))
    folder = tmp_path_factory.mktemp("gate")
    settings = {
        "SALLYPORT_RECORD__LINES": "true",
        "SALLYPORT_CONTROLLERS": json.dumps([JOBSET.user, KUBERAY.user]),
    }
    try:
        # Before the gate: what is older than it has its ReplicaSets and Pods.
        manager = ControllerManager(tmp_path_factory.mktemp("made"), apiserver, *CONTROLLERS)
        try:
            with guarded(apiserver, folder, _install, settings, only=WEBHOOKS):
                yield Installation(apiserver, folder / "gate.log")
        finally:
            manager.stop()
    finally:
        apiserver.stop()


@pytest.fixture
async def admin(installation: Installation) -> AsyncIterator[Client]:
    """A cluster administrator (`system:masters`)."""
    async with connect(installation.apiserver) as client:
        yield client


@pytest.fixture
def ann(admin: Client) -> Client:
    """A human with an Entra object id."""
    return human(admin, "ann@example.com", ANN_OID)


@pytest.fixture
def ben(admin: Client) -> Client:
    """Another one."""
    return human(admin, "ben@example.com", BEN_OID)


def human(admin: Client, name: str, oid: str) -> Client:
    """Return a person of Entra in the group of all these people."""
    human = admin.as_user(name, [PEOPLE, "system:authenticated"])
    human._headers.add("Impersonate-Extra-oid", oid)  # noqa: SLF001  As Entra's tokens say it.
    return human


async def soon(work: Callable[[], Awaitable[Json]]) -> Json:
    """Do what RBAC and the gate's profiles allow in a moment; they follow changes with a delay."""
    deadline = time.monotonic() + _SEEN_S
    while True:
        try:
            return await work()
        except ApiStatusError:
            if time.monotonic() > deadline:
                raise
        await asyncio.sleep(_POLL_S)


async def revision(client: Client, name: str, number: int) -> None:
    """Return once the Deployment's controller has seen so many templates."""
    for _ in range(600):
        now = await client.get("apps/v1", "Deployment", name, NAMESPACE)
        if now["metadata"]["annotations"].get(REVISION) == str(number):
            return
        await asyncio.sleep(0.1)
    raise TimeoutError(f"{name} has no revision {number}")


def template(name: str, **spec: Any) -> Json:
    """Return a Pod template that pss-baseline covers."""
    container = {"name": "main", "image": "registry.example/train:1"}
    return {
        "metadata": {"labels": {"app": name}},
        "spec": {"containers": [container], "terminationGracePeriodSeconds": 0, **spec},
    }


def workload(kind: str, name: str, **spec: Any) -> Json:
    """Return a workload of one of Kubernetes' kinds, for one Pod."""
    pods = template(name)
    selector = {"selector": {"matchLabels": {"app": name}}, "template": pods}
    job = {"template": template(name, restartPolicy="Never")}
    shapes: dict[str, tuple[str, Json]] = {
        "Deployment": ("apps/v1", selector | {"replicas": 1}),
        "ReplicaSet": ("apps/v1", selector | {"replicas": 1}),
        "StatefulSet": ("apps/v1", selector | {"replicas": 1, "serviceName": name}),
        "DaemonSet": ("apps/v1", selector),
        "ReplicationController": (
            "v1",
            {"replicas": 1, "selector": {"app": name}, "template": pods},
        ),
        "Job": ("batch/v1", job),
        "CronJob": ("batch/v1", {"schedule": "* * * * *", "jobTemplate": {"spec": job}}),
    }
    api_version, shape = shapes[kind]
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": shape | spec,
    }


def reference(owner: Json) -> Json:
    """Return a reference to an object, as the one that controls."""
    named = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "controller": True}
    return named | {key: owner["metadata"][key] for key in ("name", "uid")}


def of_pod(name: str) -> Callable[[Json], bool]:
    """Say of a decision whether it is of a Pod whose name begins so."""
    return lambda d: d["request"]["kind"] == "Pod" and d["request"].get("name", "").startswith(name)
