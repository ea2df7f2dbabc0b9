"""A cluster of this folder's own, with Kubernetes' controllers and the CRDs of policy engines."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Final, TypeVar

import pytest

from egress.model.openings import CompiledAllowlists
from egress.render.engines import render
from egress.render.target import Engine, EngineKind, RenderTarget
from tests.api.admission.objects import until_known
from tests.api.kube.objects import new_name
from tests.harness.evidence import ROOT
from tests.harness.programs.client import ApiStatusError, Client, Json, connect, read_objects
from tests.harness.programs.guarded_apiserver import Installation, guarded_with_controllers
from tests.harness.published.policy_engines import install_crds
from tests.harness.worlds.rbac import grant, group, rule, use_of

T = TypeVar("T")

PEOPLE: Final = "egress-people"
"""RBAC lets them do everything but `exempt` and other verbs of Sallyport's own."""
CONTROL: Final = "system:serviceaccount:sallyport-system:sallyport-control"
MASTERS: Final = "system:masters"

CONTROLLERS: Final = (
    "deployment-controller",
    "replicaset-controller",
    "job-controller",
    "garbage-collector-controller",
    "namespace-controller",
)
_VERBS: Final = "get list watch create update patch delete deletecollection"
_SEEN_S: Final = 60.0
_POLL_S: Final = 0.1


async def _install(client: Client) -> str:
    for file in sorted((ROOT / "helm/sallyport-crds/templates").glob("*.yaml")):
        await client.apply(read_objects(file))
    await install_crds(client)
    await client.wait_for_kind("sallyport.dev/v1alpha1", "ContainerProfile")
    await client.apply(read_objects(ROOT / "policies/profiles/pss-baseline.yaml"))
    everyone = (group(PEOPLE), group("system:serviceaccounts"))
    await client.apply(grant("egress-use", use_of("pss-baseline"), *everyone))
    await client.apply(grant("egress-all", rule(["*"], "*", _VERBS), group(PEOPLE)))
    await client.create_namespace("sallyport-system")
    for shipped in ("rbac.yaml", "namespace-guard.yaml"):
        await client.apply(read_objects(ROOT / "deploy" / shipped))
    await client.create_service_account("sallyport-gate", "sallyport-system")
    return await client.create_token("sallyport-gate", "sallyport-system")


@pytest.fixture(scope="package")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """The cluster, its controllers, and the gate."""
    with guarded_with_controllers(tmp_path_factory.mktemp, _install, CONTROLLERS) as found:
        yield found


@pytest.fixture
async def admin(installation: Installation) -> AsyncIterator[Client]:
    """A cluster administrator (`system:masters`)."""
    async with connect(installation.apiserver) as client:
        yield client


@pytest.fixture
def person(admin: Client) -> Client:
    """Somebody who may do what RBAC can give, and exempt nothing."""
    return admin.as_user("egress-person", [PEOPLE, "system:authenticated"])


@pytest.fixture
def control(admin: Client) -> Client:
    """Sallyport's controller, by its name; it may do everything."""
    return admin.as_user(CONTROL, [MASTERS])


@pytest.fixture
async def closed(admin: Client, control: Client) -> str:
    """A namespace that is enrolled and closed, with a service account `trainer`."""
    name = await enrol(admin)
    await control.apply(floor(name))
    return name


@pytest.fixture
async def free(admin: Client) -> str:
    """A namespace that is not enrolled, with a service account `trainer`."""
    name = new_name("egress-free")
    await admin.create_namespace(name)
    await admin.create_service_account("trainer", name)
    await until_known(admin, name)
    return name


async def enrol(admin: Client) -> str:
    """Make an enrolled namespace that nothing closes yet, and that the gate knows."""
    name = new_name("egress-held")
    await admin.create_namespace(name, {"sallyport.dev/egress": "deny"})
    await admin.create_service_account("trainer", name)
    await until_known(admin, name)
    return name


def floor(namespace: str, engine: EngineKind = "networkpolicy") -> list[Json]:
    """Return what every enrolled namespace has, as it is rendered."""
    return list(render(CompiledAllowlists(namespace), RenderTarget(Engine(engine))).objects)


def pod(namespace: str, name: str = "run", **meta: object) -> Json:
    """Return a Pod of the trainer."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, **meta},
        "spec": spec(),
    }


def spec() -> Json:
    """Return the spec of a Pod that pss-baseline covers."""
    return {
        "serviceAccountName": "trainer",
        "containers": [{"name": "main", "image": "registry.example/train:1"}],
        "terminationGracePeriodSeconds": 0,
    }


async def soon(work: Callable[[], Awaitable[T]]) -> T:
    """Do what RBAC and the gate allow in a moment; they follow changes with a delay."""
    deadline = time.monotonic() + _SEEN_S
    while True:
        try:
            return await work()
        except ApiStatusError:
            if time.monotonic() > deadline:
                raise
        await asyncio.sleep(_POLL_S)


async def until(wanted: Callable[[], Awaitable[T | None]]) -> T:
    """Wait until something is there."""
    deadline = time.monotonic() + _SEEN_S
    while (found := await wanted()) is None:
        if time.monotonic() > deadline:
            raise TimeoutError("it did not come")
        await asyncio.sleep(_POLL_S)
    return found
