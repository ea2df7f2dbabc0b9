"""A cluster of this folder's own, with controllers, and a gate that decides by risk."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Final

import msgspec
import pytest

from core.risk.model import (
    Application,
    ApplicationKind,
    RiskEntry,
    RiskLevel,
    RiskSource,
    RiskState,
    identity_key,
)
from core.risk.snapshot import Coverage, SnapshotDraft
from kube.client.connection import Connection
from kube.client.objects import Objects
from kube.risk.store import RiskStore
from tests.api.people.requester_notes.conftest import template, workload
from tests.harness.evidence import ROOT
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.availability import require
from tests.harness.programs.client import Client, Json, Outcome, connect, read_objects
from tests.harness.programs.controller_manager import ControllerManager
from tests.harness.programs.guarded_apiserver import guarded
from tests.harness.worlds.rbac import grant, group, rule, use_of

NAMESPACE: Final = "risk-train"
CLOSED: Final = "risk-closed"
"""Refuses everybody while nobody knows of risks."""
PEOPLE: Final = "risk-people"
GROUPS: Final = ("system:authenticated", PEOPLE)
SYSTEM: Final = "sallyport-system"
TENANT: Final = "aaaaaaaa-0000-4000-8000-000000000001"
ANN: Final = "11111111-2222-4333-8444-555555555555"
BEN: Final = "99999999-8888-4777-8666-555555555555"
CLIENT: Final = "00000000-0000-4000-8000-00000000000c"
PRINCIPAL: Final = "00000000-0000-4000-8000-00000000000d"
EVENT: Final = "6a5874caabcd9d82"

CONTROLLERS: Final = (
    "deployment-controller",
    "replicaset-controller",
    "garbage-collector-controller",
)
WEBHOOKS: Final = frozenset(
    f"{name}.sallyport.dev"
    for name in (
        "validate mutate workloads notes connect credentials guards authors rights namespaces"
    ).split()
)
_VERBS: Final = "get list watch create update patch delete approve exempt"
_GVISOR: Final[Json] = {
    "apiVersion": "node.k8s.io/v1",
    "kind": "RuntimeClass",
    "metadata": {"name": "gvisor"},
    "handler": "runsc",
}


async def _install(client: Client) -> str:
    for file in sorted((ROOT / "helm/sallyport-crds/templates").glob("*.yaml")):
        await client.apply(read_objects(file))
    await client.wait_for_kind("sallyport.dev/v1alpha1", "ContainerProfile")
    await client.apply(read_objects(ROOT / "policies/profiles/pss-baseline.yaml"))
    subjects = (group(PEOPLE), group(f"system:serviceaccounts:{NAMESPACE}"))
    await client.apply(grant("risk-use", use_of("pss-baseline"), *subjects))
    await client.apply(grant("risk-all", rule(["*"], "*", _VERBS), group(PEOPLE)))
    await client.apply([_GVISOR])
    await client.create_namespace(SYSTEM)
    await client.apply(read_objects(ROOT / "deploy/rbac.yaml"))
    await client.create_namespace(NAMESPACE)
    await client.create_namespace(CLOSED, {"sallyport.dev/when-risk-stale": "deny"})
    await client.create_service_account("sallyport-gate", SYSTEM)
    account = {"name": "robot", "namespace": NAMESPACE}
    annotations = {"azure.workload.identity/client-id": CLIENT}
    metadata = account | {"annotations": annotations}
    await client.apply([{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}])
    await client.create(pod("running"))
    return await client.create_token("sallyport-gate", SYSTEM)


def pod(name: str, namespace: str = NAMESPACE, **spec: object) -> Json:
    """Return a Pod that pss-baseline covers."""
    made = template(name, **spec)
    made["metadata"] |= {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "Pod", **made}


def deployment(name: str, **spec: object) -> Json:
    """Return a Deployment of one such Pod."""
    made = workload("Deployment", name, template=template(name, **spec))
    made["metadata"]["namespace"] = NAMESPACE
    return made


@dataclass(frozen=True)
class Risks:
    """Says who is at risk, as `control` does."""

    store: RiskStore

    async def put(
        self, *people: str, level: RiskLevel = RiskLevel.HIGH, client: bool = False
    ) -> None:
        """Let these be at risk and nobody else; CLIENT too, if so."""
        now = int(time.time())
        entry = RiskEntry(
            level=level, state=RiskState.AT_RISK, updated=now, since=now - 60, event_id=EVENT
        )
        risky = {identity_key(each) for each in (*people, *([PRINCIPAL] if client else []))}

        def change(draft: SnapshotDraft) -> None:
            for key, _ in list(draft.before.entries(RiskSource.ENTRA)):
                if key not in risky:
                    draft.drop(RiskSource.ENTRA, key)
            for key in risky:
                draft.put(RiskSource.ENTRA, key, entry)

        await self.store.update(change)

    async def known(self, *, as_of: float | None) -> None:
        """Say since when everything is known; None for never."""
        coverage = Coverage(as_of=as_of)

        def change(draft: SnapshotDraft) -> None:
            draft.head = msgspec.structs.replace(
                draft.head, tenant=TENANT, users=coverage, service_principals=coverage
            )
            draft.put_application(CLIENT, Application(ApplicationKind.APPLICATION, PRINCIPAL))

        await self.store.update(change)


@pytest.fixture(scope="package")
def guarded_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    """The cluster, its controllers, and the gate; no risk snapshot is stored at first."""
    for program in ("etcd", "kube-apiserver", "kube-controller-manager"):
        require(program)
    apiserver = ApiServer(tmp_path_factory.mktemp("apiserver"))
    settings = {
        "SALLYPORT_IDENTITY__ENABLED": "true",
        "SALLYPORT_IDENTITY__TENANT": TENANT,
    }
    try:
        folder = tmp_path_factory.mktemp("gate")
        with guarded(apiserver, folder, _install, settings, only=WEBHOOKS):
            manager = ControllerManager(tmp_path_factory.mktemp("made"), apiserver, *CONTROLLERS)
            try:
                yield apiserver
            finally:
                manager.stop()
    finally:
        apiserver.stop()


@pytest.fixture
async def admin(guarded_cluster: ApiServer) -> AsyncIterator[Client]:
    """A cluster administrator (`system:masters`), by a certificate that Entra knows nothing of."""
    async with connect(guarded_cluster) as client:
        yield client


@pytest.fixture
async def risks(guarded_cluster: ApiServer, ann: Client, ben: Client) -> AsyncIterator[Risks]:
    """Who is at risk: nobody at first, as the gate knows, and nobody again at the end."""
    connection = Connection(guarded_cluster.kubeconfig())
    await connection.open()
    found = Risks(RiskStore(Objects(connection), SYSTEM))
    try:
        await found.known(as_of=time.time())
        await found.put()
        await _known_to_gate(ann, ben)
        yield found
        await found.put()
    finally:
        await connection.close()


async def _known_to_gate(ann: Client, ben: Client) -> None:
    """Wait until the gate has heard that neither of them is at risk, nor what Pods sign in as."""
    signing_in = pod("signing-in", serviceAccountName="robot")
    signing_in["metadata"]["labels"]["azure.workload.identity/use"] = "true"
    asked = [(ann, pod("plain", CLOSED)), (ann, pod("plain")), (ben, signing_in)]
    deadline = time.monotonic() + 60
    while not all([await _is_let_be(client, item) for client, item in asked]):
        assert time.monotonic() < deadline, "the gate does not hear of risks"
        await asyncio.sleep(0.1)


async def _is_let_be(client: Client, item: Json) -> bool:
    client.warnings.clear()
    answer = await client.dry_run(item)
    contained = "runtimeClassName" in answer.body.get("spec", {})
    return answer.outcome is Outcome.ALLOWED and not contained and not client.warnings


@pytest.fixture
def ann(admin: Client) -> Client:
    """A person of Entra's, who may do everything that the gate lets her."""
    return admin.as_user("ann@example.com", GROUPS, oid=ANN)


@pytest.fixture
def ben(admin: Client) -> Client:
    """Another one."""
    return admin.as_user("ben@example.com", GROUPS, oid=BEN)
