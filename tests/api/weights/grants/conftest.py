"""A cluster of this folder's own, with the controllers that make Pods, and a gate that records."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from tests.api.admission.objects import until_known
from tests.harness.evidence import ROOT
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.availability import require
from tests.harness.programs.client import ApiStatusError, Client, Json, connect, read_objects
from tests.harness.programs.controller_manager import ControllerManager
from tests.harness.programs.guarded_apiserver import guarded
from tests.harness.worlds.approvals import seen
from tests.harness.worlds.rbac import binding, grant, group, rule, use_of, user

API: Final = "sallyport.dev/v1alpha1"
PEOPLE: Final = "weights-people"
TEAM: Final = "weights-team"
CAROL: Final = "carol@example.com"
DAVE: Final = "dave@example.com"
ANN: Final = "ann@example.com"
BEN: Final = "ben@example.com"
OIDS: Final = {
    CAROL: "00000000-0000-4000-8000-00000000000a",
    DAVE: "00000000-0000-4000-8000-00000000000b",
    ANN: "00000000-0000-4000-8000-00000000000c",
    BEN: "00000000-0000-4000-8000-00000000000d",
    "sealer@example.com": "00000000-0000-4000-8000-00000000000e",
    "oncall@example.com": "00000000-0000-4000-8000-00000000000f",
}
CLIENT: Final = "11111111-2222-3333-4444-555555555555"
TIER: Final = {"group": "sallyport.dev", "resource": "approvaltiers", "name": "grants"}
STORE: Final[Json] = {
    "apiVersion": API,
    "kind": "WeightStore",
    "metadata": {"name": "llama"},
    "spec": {
        "account": "llamaweights",
        "containers": [{"name": "prod"}],
        "owner": "weights-team",
        "privateEndpoints": ["10.1.0.5/32"],
        "identities": [{"clientId": CLIENT, "rights": ["read"]}],
    },
}
WEBHOOKS: Final = (
    "validate.sallyport.dev",
    "mutate.sallyport.dev",
    "workloads.sallyport.dev",
    "notes.sallyport.dev",
    "objects.sallyport.dev",
    "guards.sallyport.dev",
    "authors.sallyport.dev",
)
CONTROLLERS: Final = (
    "deployment-controller",
    "replicaset-controller",
    "persistentvolume-binder-controller",
)
SOON_S: Final = 60.0
_POLL_S: Final = 0.1
_VERBS: Final = "get list watch create update patch delete"


@dataclass(frozen=True)
class Installation:
    """A kube-apiserver whose objects are judged, and where decisions are recorded."""

    apiserver: ApiServer
    log: Path

    async def decision_on(self, uid: str) -> Json:
        """Return the decision on an object, of the validating pass, once its line is written."""
        deadline = time.monotonic() + SOON_S
        while True:
            for each in self._decisions():
                if each["request"].get("objectUid") == uid:
                    return each
            assert time.monotonic() < deadline, f"no decision on {uid}"
            await asyncio.sleep(_POLL_S)

    def _decisions(self) -> list[Json]:
        whole, _, _ = self.log.read_text(errors="replace").rpartition("\n")
        lines = whole.splitlines()
        documents = [json.loads(line) for line in lines if '"format":' in line]
        return [each for each in documents if each.get("source") == "validate"]


async def _install(client: Client) -> str:
    for file in sorted((ROOT / "helm/sallyport-crds/templates").glob("*.yaml")):
        await client.apply(read_objects(file))
    for kind in ("ContainerProfile", "WeightStore", "AccessGrant"):
        await client.wait_for_kind(API, kind)
    await client.apply(read_objects(ROOT / "policies/profiles/pss-privileged.yaml"))
    everyone = (group(PEOPLE), group("system:serviceaccounts"))
    await client.apply(grant("weights-use", use_of("pss-privileged"), *everyone))
    await client.apply(grant("weights-all", rule(["*"], "*", _VERBS), group(PEOPLE)))
    await client.create_namespace("sallyport-system")
    await client.apply(read_objects(ROOT / "deploy" / "rbac.yaml"))
    approvers = map(user, (ANN, BEN, CAROL, "alice", "bob"))
    await client.apply([binding("sallyport-approve-grants", *approvers, name="weights-approvers")])
    await client.create_service_account("sallyport-gate", "sallyport-system")
    await client.create(STORE)
    return await client.create_token("sallyport-gate", "sallyport-system")


@pytest.fixture(scope="package")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """The cluster, its controllers, and the gate."""
    for program in ("etcd", "kube-apiserver", "kube-controller-manager"):
        require(program)
    apiserver = ApiServer(tmp_path_factory.mktemp("apiserver"))
    folder = tmp_path_factory.mktemp("gate")
    settings = {"SALLYPORT_RECORD__LINES": "true", "SALLYPORT_ACCESS__ALLOW_AGE": "1"}
    try:
        with guarded(apiserver, folder, _install, settings, only=WEBHOOKS):
            made = tmp_path_factory.mktemp("controllers")
            manager = ControllerManager(made, apiserver, *CONTROLLERS)
            try:
                yield Installation(apiserver, folder / "gate.log")
            finally:
                manager.stop()
    finally:
        apiserver.stop()


@pytest.fixture
async def admin(installation: Installation) -> AsyncIterator[Client]:
    """A cluster administrator (`system:masters`)."""
    async with connect(installation.apiserver) as client:
        for name in (ANN, BEN, CAROL, "alice", "bob"):
            await client.as_user(name).wait_until_can("approve", TIER)
        yield client


def human(admin: Client, name: str, *groups: str) -> Client:
    """Return a person of Entra in the group of all these people."""
    return admin.as_user(name, [PEOPLE, "system:authenticated", *groups], oid=OIDS[name])


async def place(admin: Client, name: str) -> str:
    """Make a namespace with the account trainer, which signs in as what opens the store."""
    await admin.create_namespace(name)
    await admin.create(
        {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {
                "name": "trainer",
                "namespace": name,
                "annotations": {"azure.workload.identity/client-id": CLIENT},
            },
        }
    )
    await until_known(admin, name)
    return name


def in_seconds(seconds: float) -> str:
    """Return a time as grants write it."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + seconds))


def asked_for(namespace: str, name: str = "llama", **spec: Any) -> Json:
    """Return a grant of the store to Carol."""
    fields: Json = {
        "store": "llama",
        "rights": ["read"],
        "serviceAccounts": ["trainer"],
        "people": [f"oid:{OIDS[CAROL]}"],
        "reason": "training",
        "expiresAt": in_seconds(3600),
    }
    whole = {key: value for key, value in (fields | spec).items() if value is not None}
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": API, "kind": "AccessGrant", "metadata": metadata, "spec": whole}


async def approve(admin: Client, of: Json, *who: str) -> None:
    """Have people approve a grant as it is."""
    meta = of["metadata"]
    for name in who or (ANN, BEN):
        wanted = {"kind": "AccessGrant", "name": meta["name"]}
        metadata = {
            "name": f"{meta['name']}-{name.partition('@')[0]}",
            "namespace": meta["namespace"],
        }
        made: Json = {
            "apiVersion": API,
            "kind": "Approval",
            "metadata": metadata,
            "spec": {"for": wanted, "expiresAt": in_seconds(3600)},
        }
        await human(admin, name).create(await seen(admin, made))


def pod(namespace: str, name: str, **spec: Any) -> Json:
    """Return a Pod that has a token for Entra, as trainer."""
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "Pod", **template(name, **spec)} | {
        "metadata": metadata | template(name)["metadata"]
    }


def template(name: str, account: str = "trainer", **spec: Any) -> Json:
    """Return a template of one."""
    container = {"name": "main", "image": "registry.example/train:1"}
    return {
        "metadata": {"labels": {"app": name, "azure.workload.identity/use": "true"}},
        "spec": {
            "serviceAccountName": account,
            "containers": [container],
            "terminationGracePeriodSeconds": 0,
            **spec,
        },
    }


def deployment(namespace: str, name: str, replicas: int = 1) -> Json:
    """Return a Deployment of such Pods."""
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": template(name),
        },
    }


async def soon(work: Callable[[], Awaitable[Any]]) -> Any:
    """Do what the gate admits in a moment: it follows changes with a delay."""
    deadline = time.monotonic() + SOON_S
    while True:
        try:
            return await work()
        except ApiStatusError:
            if time.monotonic() > deadline:
                raise
        await asyncio.sleep(_POLL_S)


async def refused(work: Callable[[], Awaitable[Any]], says: str) -> str:
    """Do it until it is refused with these words, and give the message."""
    deadline, last = time.monotonic() + SOON_S, ""
    while time.monotonic() < deadline:
        try:
            await work()
        except ApiStatusError as error:
            last = str(error)
            if says in last:
                return last
        await asyncio.sleep(_POLL_S)
    raise AssertionError(f"never refused with {says!r}; the last: {last!r}")


async def pods_made(admin: Client, namespace: str, name: str) -> list[Json]:
    """Wait until a Deployment has Pods, and give them."""
    deadline = time.monotonic() + SOON_S
    while not (found := await pods_of(admin, namespace, name)):
        assert time.monotonic() < deadline, f"{namespace}/{name} has no Pods"
        await asyncio.sleep(_POLL_S)
    return found


async def pods_of(admin: Client, namespace: str, name: str) -> list[Json]:
    """Return the Pods of a Deployment."""
    query = {"labelSelector": f"app={name}"}
    path = f"/api/v1/namespaces/{namespace}/pods"
    return list((await admin.request("GET", path, parameters=query))[1]["items"])
