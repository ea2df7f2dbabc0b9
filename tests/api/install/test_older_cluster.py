"""Every object that the chart renders is taken by kube-apiserver, and by one two minors older."""

from collections.abc import Iterator

import pytest

from tests.api.install.conftest import TEAM
from tests.api.install.everything import EVERYTHING
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.availability import require
from tests.harness.programs.client import Client, connect, read_objects
from tests.harness.programs.helm import CRDS, NAMESPACE, Helm
from tests.harness.published.prometheus_operator import install_crds
from tests.harness.sizes import PROOF

KINDS = sorted((CRDS / "templates").glob("*.yaml"))
STRICT = {"dryRun": "All", "fieldValidation": "Strict"}
NEW = ("monitoring", "networks named", "autoscaling with volumes", "test elsewhere")
"""What no other test gives to the newest kube-apiserver."""


@pytest.fixture(scope="module")
def older(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    """A kube-apiserver 1.34: it takes minutes to build, so the proof alone does."""
    require("kube-apiserver-1.34")
    server = ApiServer(tmp_path_factory.mktemp("older"), program="kube-apiserver-1.34")
    yield server
    server.stop()


async def taken(client: Client, helm: Helm, switches: tuple[str, ...]) -> None:
    """Have a kube-apiserver validate every object, strictly, and say nothing about any."""
    await install_crds(client)
    # kube-apiserver looks for them when it is given the Pods of Helm's hooks.
    for hook in ("test", "uninstall"):
        await client.create_service_account(f"sallyport-{hook}", NAMESPACE)
    client.warnings.clear()
    for switch in switches:
        objects = helm.objects(EVERYTHING[switch])
        assert len(objects) > 20
        await client.apply(objects, **STRICT)
    assert client.warnings == []


async def test_the_newest_takes_what_monitors_closes_and_tries(admin: Client, helm: Helm) -> None:
    """As tests/api/chart/test_accepted.py has it of all else."""
    await taken(admin, helm, NEW)


@pytest.mark.proof
@pytest.mark.skipif(not PROOF, reason="a proof: set SALLYPORT_PROOF=1 (make proof)")
async def test_an_older_minor_takes_everything(older: ApiServer, helm: Helm) -> None:
    """Whatever is switched: no field that only the newest knows."""
    assert older.version().startswith("v1.34.")
    async with connect(older) as client:
        for namespace in (NAMESPACE, TEAM):
            await client.create_namespace(namespace)
        for file in KINDS:
            await client.apply(read_objects(file))
        await client.wait_for_kind("sallyport.dev/v1alpha1", "ContainerProfile")
        await taken(client, helm, tuple(EVERYTHING))
