"""`egress suggest` finds whose flows are by what a real kube-apiserver lists."""

from pathlib import Path

from app.settings.root import Settings
from cli.egress.flags import FlowFormat
from cli.egress.suggest import read_flows
from egress.analysis.suggestion import suggest
from tests.api.kube.objects import new_name
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.client import Client, Json


def _template() -> Json:
    container = {"name": "main", "image": "registry.example/report:1"}
    return {
        "spec": {
            "serviceAccountName": "reporter",
            "restartPolicy": "Never",
            "containers": [container],
        }
    }


def _cron_job(place: str) -> Json:
    return {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "nightly", "namespace": place},
        "spec": {"schedule": "0 3 * * *", "jobTemplate": {"spec": {"template": _template()}}},
    }


async def test_flows_of_jobs_that_have_gone_are_their_cron_jobs(
    apiserver: ApiServer, client: Client, tmp_path: Path
) -> None:
    """JobSets are not installed there: that ends nothing. Of another namespace nothing is said."""
    place, other = new_name("reports"), new_name("other")
    for name in (place, other):
        await client.create_namespace(name)
    await client.create(_cron_job(place))
    file = tmp_path / "flows.csv"
    file.write_text(
        "namespace,pod,destination,port\n"
        f"{place},nightly-29384700-b4xzq,packages.example.org,443\n"
        f"{other},nightly-29384700-b4xzq,packages.example.org,443\n"
    )
    settings = Settings(kubeconfig=apiserver.kubeconfig())
    observed = await read_flows(settings, [str(file)], FlowFormat.CSV, None)
    (found,) = suggest(observed)
    workload = found.workload
    assert workload is not None
    assert (found.namespace, found.service_account) == (place, "reporter")
    assert (workload.kind, workload.name) == ("CronJob", "nightly")
    assert observed.unknown_sources == [(f"namespace {other}, Pod nightly-29384700-b4xzq", 1)]
    assert observed.index.seen.unlisted == ()
