"""A cluster of this folder's own: the gate, Kubernetes' controllers, RuntimeClasses."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any, Final

import pytest

from tests.api.admission.conftest import install
from tests.harness.evidence import ROOT
from tests.harness.programs.client import Client, Json, Outcome, connect, read_objects
from tests.harness.programs.guarded_apiserver import Installation, guarded_with_controllers
from tests.harness.worlds.rbac import grant, group, rule, use_of

BOXED: Final = "boxed"
"""A namespace in which all must run in the sandbox."""
OPEN: Final = "open"
"""One in which nothing must."""
PEOPLE: Final = "sandbox-people"
"""RBAC lets them do everything but what the gate guards."""
LABEL: Final = "sallyport.dev/sandbox"

WIDE: Final = "sandbox-wide"
STRICT: Final = "sandbox-strict"
RISKY: Final = "sandbox-risky"

OVERHEAD: Final = {"cpu": "50m", "memory": "64Mi"}
POOL: Final = {"example.com/pool": "sandbox"}
TOLERATION: Final = {"key": "sandbox", "operator": "Exists", "effect": "NoSchedule"}

_CONTROLLERS: Final = ("deployment-controller", "replicaset-controller", "job-controller")
_SEEN_S: Final = 60.0


def runtime_class(name: str, handler: str, **more: Any) -> Json:
    """Return a RuntimeClass."""
    head = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": name}}
    return head | {"handler": handler} | more


CLASSES: Final = (
    runtime_class(
        "gvisor",
        "runsc",
        overhead={"podFixed": OVERHEAD},
        scheduling={"nodeSelector": POOL, "tolerations": [TOLERATION]},
    ),
    runtime_class("also-runsc", "runsc"),
    runtime_class("plain", "runc"),
)


def profile(name: str, rank: int, **spec: Any) -> Json:
    """Return a profile that covers everything."""
    return {
        "apiVersion": "sallyport.dev/v1alpha1",
        "kind": "ContainerProfile",
        "metadata": {"name": name},
        "spec": {"privileges": ["**"], "rank": rank, "catalogue": 3, **spec},
    }


def pod_of(name: str, namespace: str = BOXED, **spec: Any) -> Json:
    """Return a Pod."""
    made = template(name, **spec)
    made["metadata"] |= {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "Pod", **made}


def template(name: str, **spec: Any) -> Json:
    """Return a Pod template."""
    container = {"name": "main", "image": f"registry.example/train@sha256:{64 * 'a'}"}
    # A token's volume has another name each time.
    whole = {"automountServiceAccountToken": False, "containers": [container], **spec}
    return {"metadata": {"labels": {"app": name}}, "spec": whole}


def deployment(name: str, namespace: str = BOXED, replicas: int = 1, **spec: Any) -> Json:
    """Return a Deployment."""
    selector = {"matchLabels": {"app": name}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"replicas": replicas, "selector": selector, "template": template(name, **spec)},
    }


async def _install(client: Client) -> str:
    token = await install(client)
    for file in sorted((ROOT / "helm/sallyport-crds/templates").glob("*.yaml")):
        await client.apply(read_objects(file))
    await client.apply((profile(WIDE, 900), profile(STRICT, 901, sandbox="required"), *CLASSES))
    await client.apply((profile(RISKY, 902, sandbox="by-risk"),))
    verbs = "get list watch create update patch delete"
    everyone = (group(PEOPLE), group("system:serviceaccounts"))
    await client.apply(grant("sandbox-use", use_of(WIDE), *everyone))
    await client.apply(grant("sandbox-strict", use_of(STRICT), group(PEOPLE)))
    await client.apply(grant("sandbox-risky", use_of(RISKY), *everyone))
    await client.apply(grant("sandbox-all", rule(["*"], "*", verbs), group(PEOPLE)))
    for name, labels in ((BOXED, {LABEL: "required"}), (OPEN, {})):
        await client.create_namespace(name, labels)
        await client.create_service_account("default", name)
    return token


@pytest.fixture(scope="package")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """kube-apiserver with RuntimeClass admission (its default), the controllers and the gate."""
    with guarded_with_controllers(tmp_path_factory.mktemp, _install, _CONTROLLERS) as found:
        yield found


@pytest.fixture
async def admin(installation: Installation) -> AsyncIterator[Client]:
    """A cluster administrator (`system:masters`)."""
    async with connect(installation.apiserver) as client:
        yield client


@pytest.fixture
async def eve(admin: Client) -> Client:
    """Somebody who would rather not be sandboxed; the gate knows the classes."""
    person = admin.as_user("eve@example.com", ("system:authenticated", PEOPLE))
    deadline = time.monotonic() + _SEEN_S
    while (answer := await person.dry_run(pod_of("probe"))).outcome is not Outcome.ALLOWED:
        if time.monotonic() > deadline:
            pytest.fail(answer.message)
        await asyncio.sleep(0.2)
    return person


async def ask(client: Client, item: Json) -> tuple[int, Json]:
    """Return the status and the answer of a dry run: to an empty class kube-apiserver says 500."""
    plural = f"{item['kind'].lower()}s"
    root = f"/apis/{item['apiVersion']}" if "/" in item["apiVersion"] else "/api/v1"
    path = f"{root}/namespaces/{item['metadata']['namespace']}/{plural}"
    return await client.request("POST", path, item, parameters={"dryRun": "All"})


async def pods_of(client: Client, name: str, namespace: str = BOXED) -> list[Json]:
    """Return the Pods of a workload, once there are any."""
    path = f"/api/v1/namespaces/{namespace}/pods?labelSelector=app%3D{name}"
    deadline = time.monotonic() + _SEEN_S
    while time.monotonic() < deadline:
        found = (await client.request("GET", path))[1]["items"]
        if found:
            return list(found)
        await asyncio.sleep(0.2)
    pytest.fail(f"no Pod of {name}")
