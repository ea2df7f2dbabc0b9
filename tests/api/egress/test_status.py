"""`egress status` reads states, conditions and CronJobs of a real kube-apiserver."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from app.settings.root import Settings
from cli import exits
from cli.egress.flags import FlowFormat
from cli.egress.status import StatusQuestion, exit_code, read_status
from tests.api.kube.objects import new_name
from tests.harness.evidence import ROOT
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.availability import require
from tests.harness.programs.client import Client, Json, read_objects

DEFINITION = ROOT / "helm/sallyport-crds/templates/egressallowlists.yaml"


def _objects(place: str) -> list[Json]:
    pod = {
        "serviceAccountName": "reporter",
        "restartPolicy": "Never",
        "containers": [{"name": "main", "image": "registry.example/report:1"}],
    }
    job = {"spec": {"template": {"spec": pod}}}
    cron_jobs: list[Json] = [
        {
            "apiVersion": "batch/v1",
            "kind": "CronJob",
            "metadata": {"name": name, "namespace": place},
            "spec": {"schedule": "0 3 1 * *", "jobTemplate": job},
        }
        for name in ("nightly", "monthly")
    ]
    allowlist: Json = {
        "apiVersion": "sallyport.dev/v1alpha1",
        "kind": "EgressAllowlist",
        "metadata": {"name": "reports", "namespace": place},
        "spec": {
            "serviceAccounts": ["reporter"],
            "to": [{"cidr": "192.0.2.0/24", "ports": [{"protocol": "TCP", "port": 443}]}],
            "owner": "o",
            "reason": "r",
            "expiresAt": "2027-01-01T00:00:00Z",
        },
    }
    return [*cron_jobs, allowlist]


@pytest.fixture(scope="module")
def apiserver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    """A kube-apiserver of this file alone: it would see others' objects, and delete their kinds."""
    for program in ("etcd", "kube-apiserver"):
        require(program)
    server = ApiServer(tmp_path_factory.mktemp("status"))
    try:
        yield server
    finally:
        server.stop()


@pytest.fixture
async def defined(client: Client) -> AsyncIterator[None]:
    """Have the kind EgressAllowlist there, for as long as the test lasts."""
    definition = read_objects(DEFINITION)
    await client.apply(definition)
    await client.wait_for_kind("sallyport.dev/v1alpha1", "EgressAllowlist")
    yield
    for each in definition:
        await client.delete(each)
    await client.wait_until_gone("/apis/sallyport.dev/v1alpha1/egressallowlists")


async def test_status_before_sallyport_is_installed(apiserver: ApiServer, client: Client) -> None:
    """Nothing is enrolled, and nothing is an error."""
    await client.create_namespace(new_name("plain"))
    settings = Settings(kubeconfig=apiserver.kubeconfig())
    found = await read_status(settings, StatusQuestion(None, [], FlowFormat.AUTO, []))
    assert (found.namespaces, found.whole) == ([], True)


@pytest.mark.usefixtures("defined")
async def test_status_of_a_cluster(apiserver: ApiServer, client: Client, tmp_path: Path) -> None:
    """The CronJob whose Job was seen is covered; the other is named."""
    settings = Settings(kubeconfig=apiserver.kubeconfig())
    place = new_name("reports")
    await client.create_namespace(place, {"sallyport.dev/egress": "audit"})
    for each in _objects(place):
        await client.create(each)
    file = tmp_path / "flows.csv"
    file.write_text(
        "namespace,pod,destination,port\n"
        f"{place},nightly-29384700-b4xzq,192.0.2.7,443\n"
        f"{place},nightly-29384700-b4xzq,192.0.2.8,443\n"
    )
    asked = StatusQuestion(place, [str(file)], FlowFormat.AUTO, [])
    status = await read_status(settings, asked)
    (found,) = status.namespaces
    assert found.coverage is not None
    assert (found.state, exit_code(status)) == ("audit", exits.ADMITTED)
    share = found.coverage.share
    assert (share.allowed_flows, share.flows, share.pairs) == (2, 2, 1)
    assert [(each.name, each.why) for each in found.coverage.cron_jobs] == [
        ("monthly", "has never run")
    ]
    assert [each.name for each in found.allowlists] == ["reports"]
