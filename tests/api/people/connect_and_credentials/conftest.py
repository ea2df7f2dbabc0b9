"""A gate that kube-apiserver asks; nobody may use a profile but those named here."""

from collections.abc import AsyncIterator, Iterator
from typing import Final

import pytest

from tests.api.people.connect_and_credentials.requests import (
    HOLDERS,
    MAKERS,
    NAMESPACE,
    Visitors,
    pods,
    profiles,
)
from tests.harness.evidence import ROOT
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.client import Client, Json, connect, read_objects
from tests.harness.programs.guarded_apiserver import guarded
from tests.harness.worlds.rbac import binding, grant, group, role, rule, use_of, user

GATE_ACCOUNT: Final = ("sallyport-gate", "sallyport-system")
_VERBS: Final = "get list watch create update patch delete approve sign"
"""All but `use`."""


def _rights() -> Iterator[Json]:
    """RBAC lets everybody here do everything; only the gate refuses."""
    yield from grant(MAKERS, rule(["*"], "*", _VERBS), group(MAKERS))
    for profile in HOLDERS:
        yield role(f"entering-{profile}", use_of(profile))
        yield binding(f"entering-{profile}", user(f"{profile}@example.com"))


async def _install(client: Client) -> str:
    for file in sorted((ROOT / "helm/sallyport-crds/templates").glob("*.yaml")):
        await client.apply(read_objects(file))
    await client.wait_for_kind("sallyport.dev/v1alpha1", "ContainerProfile")
    for file in sorted((ROOT / "policies/profiles").glob("*.yaml")):
        if not file.stem.endswith("-grant"):
            await client.apply(read_objects(file))
    await client.apply([*profiles(), *_rights()])
    name, namespace = GATE_ACCOUNT
    await client.create_namespace(namespace)
    await client.apply(read_objects(ROOT / "deploy/rbac.yaml"))
    await client.create_namespace(NAMESPACE)
    await client.create_service_account("trainer", NAMESPACE)
    for pod in pods():
        await client.create(pod)
    return await client.create_token(name, namespace)


@pytest.fixture(scope="package")
def entered(apiserver: ApiServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    """A kube-apiserver whose Pods are guarded, and in which some run."""
    folder = tmp_path_factory.mktemp("gate")
    with guarded(apiserver, folder, _install, leftovers=_rights()):
        yield apiserver


@pytest.fixture
async def admin(entered: ApiServer) -> AsyncIterator[Client]:
    """A cluster administrator (`system:masters`)."""
    async with connect(entered) as client:
        yield client


@pytest.fixture
def visitors(admin: Client) -> Visitors:
    """Whoever else asks."""
    return Visitors(admin)
