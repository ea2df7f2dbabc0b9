"""A cluster of this folder's own: nobody has a profile by default, one registry is allowed."""

import uuid
from collections.abc import AsyncIterator, Iterator
from typing import Final

import pytest

from tests.api.objects.claims import Storage
from tests.api.objects.people import People, grants, profiles
from tests.api.objects.pods import TRAIN
from tests.harness.evidence import ROOT, record
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.availability import require
from tests.harness.programs.client import Client, connect, read_objects
from tests.harness.programs.controller_manager import ControllerManager
from tests.harness.programs.guarded_apiserver import Installation, guarded
from tests.harness.sizes import PROOF

GATE_ACCOUNT: Final = ("sallyport-gate", "sallyport-system")
SETTINGS: Final = {"SALLYPORT_ACCESS__ALLOW_AGE": "3", "SALLYPORT_ACCESS__DENY_AGE": "1"}

FLAGS: Final = (
    # All that a cluster may serve: what is off by default is a way around as well.
    "--runtime-config=resource.k8s.io/v1beta1=true,resource.k8s.io/v1beta2=true",
    "--runtime-config=certificates.k8s.io/v1beta1=true",
    "--feature-gates=PodCertificateRequest=true",
)
CONTROLLERS: Final = (
    "persistentvolume-binder-controller",
    "ephemeral-volume-controller",
    "statefulset-controller",
)


Refused = dict[str, tuple[str, ...]]
"""Ways and objects that were refused, and the privileges that each takes."""


@pytest.fixture(scope="package")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """A kube-apiserver that asks a gate, and the controllers that bind and make claims."""
    for program in ("etcd", "kube-apiserver", "kube-controller-manager"):
        require(program)
    apiserver = ApiServer(tmp_path_factory.mktemp("apiserver"), flags=FLAGS)
    try:
        with guarded(apiserver, tmp_path_factory.mktemp("gate"), _install, SETTINGS) as found:
            folder = tmp_path_factory.mktemp("controllers")
            manager = ControllerManager(folder, apiserver, *CONTROLLERS)
            try:
                yield found
            finally:
                manager.stop()
    finally:
        apiserver.stop()


async def _install(client: Client) -> str:
    """Apply what is shipped but the grant to everyone; give a token of the gate's account."""
    await client.apply(read_objects(ROOT / "helm/sallyport-crds/templates/containerprofiles.yaml"))
    await client.wait_for_kind("sallyport.dev/v1alpha1", "ContainerProfile")
    for file in sorted((ROOT / "policies/profiles").glob("*.yaml")):
        if file.name != "default-grant.yaml":
            await client.apply(read_objects(file))
    await client.apply([*profiles(), *grants()])
    name, namespace = GATE_ACCOUNT
    await client.create_namespace(namespace)
    await client.apply(read_objects(ROOT / "deploy/rbac.yaml"))
    await client.create_namespace(TRAIN, {"resource.kubernetes.io/admin-access": "true"})
    return await client.create_token(name, namespace)


@pytest.fixture
async def admin(installation: Installation) -> AsyncIterator[Client]:
    """A cluster administrator (`system:masters`)."""
    async with connect(installation.apiserver) as client:
        yield client


@pytest.fixture
def people(admin: Client) -> People:
    """Whoever else asks."""
    return People(admin)


@pytest.fixture(scope="package")
def refused() -> Iterator[Refused]:
    """What was refused to whoever has `restricted` alone; a page of it in a proof."""
    found: Refused = {}
    yield found
    if PROOF:
        lines = [
            f"- {name}: {', '.join(f'`{each}`' for each in privileges)}"
            for name, privileges in found.items()
        ]
        head = f"- {len(found)} refused to whoever has `restricted` alone; each takes exactly:"
        record("ways-around-fields", [head, "", *lines])


@pytest.fixture
async def storage(admin: Client) -> Storage:
    """A namespace and a class of volumes of one test's own."""
    suffix = uuid.uuid4().hex[:10]
    await admin.create_namespace(f"storage-{suffix}")
    return Storage(admin, f"storage-{suffix}", f"class-{suffix}")
