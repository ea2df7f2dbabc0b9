"""control's loops, with the account that the chart makes, complete what the chart begins."""

import asyncio
import math
import time
from base64 import b64decode
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from audit.ledger.log.keys import read_key
from control.certificates.loop import Certificates
from control.certificates.signing_keys import SECRET as SIGNING
from control.certificates.signing_keys import LedgerSigningKeys
from control.discovery.loop import Discovery
from control.discovery.workload_kinds import NAME, webhook_of
from control.loop import LoopMetrics, Runner
from control.required_crds import RequiredDefinitions
from control.sweep.cursor import Cursor, CursorStore
from core.base.background import in_background
from kube.client.connection import Connection
from kube.client.objects import Objects
from kube.leader.election import LeaseElection
from kube.leader.lease import Leadership
from tests.api.chart.attempts import OWN, WEBHOOKS
from tests.api.chart.conftest import SECRETS
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.client import Client
from tests.harness.programs.helm import NAMESPACE, Helm, pod_templates
from tests.unit.helm.switches import SWITCHES

TIMEOUT_S = 60.0

_CONTAINER = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "image": {"type": "string"}},
}
_SPEC = {
    "type": "object",
    "properties": {"containers": {"type": "array", "items": _CONTAINER}},
}


@pytest.fixture
async def objects(
    admin: Client, apiserver: ApiServer, nothing_of_control: None
) -> AsyncIterator[Objects]:
    """The cluster, as control sees it."""
    token = await admin.create_token("sallyport-control", NAMESPACE)
    connection = Connection(apiserver.kubeconfig_for_token("sallyport-control", token))
    await connection.open()
    yield Objects(connection, 3.0)
    await connection.close()


def succeeded(metrics: LoopMetrics, loop: str) -> bool:
    """Return whether a loop has done its work."""
    name = "sallyport_loop_last_success_timestamp_seconds"
    return metrics.registry.get_sample_value(name, {"loop": loop}) is not None


async def test_its_loops_have_the_rights_they_need(objects: Objects) -> None:
    """Each has done its work once: the Lease, the Secrets, the registrations, the kinds."""
    metrics = LoopMetrics(CollectorRegistry())
    loops = (
        Certificates(objects, NAMESPACE, "test").loop,
        LedgerSigningKeys(objects, NAMESPACE).loop,
        RequiredDefinitions(objects, metrics.registry).loop,
        Discovery(objects, metrics.registry).loop,
    )
    election = LeaseElection(objects, NAMESPACE, "sallyport-control", "test")
    runner = Runner(election, loops, metrics)
    async with in_background(runner.run()):
        async with asyncio.timeout(TIMEOUT_S):
            while not all(succeeded(metrics, loop.name) for loop in loops):  # noqa: ASYNC110 (as scraped)
                await asyncio.sleep(0.1)
        assert runner.missing() == []
        healthy = {"crd": "containerprofiles.sallyport.dev"}
        assert metrics.registry.get_sample_value("sallyport_crd_healthy", healthy) == 1
    for loop in ("certificates", "signing", "crds", "discovery"):
        errors = metrics.registry.get_sample_value("sallyport_loop_errors_total", {"loop": loop})
        assert errors == 0, loop
    assert metrics.registry.get_sample_value("sallyport_crd_healthy", healthy) is None


async def test_what_it_makes_is_what_the_pods_mount(
    admin: Client, objects: Objects, helm: Helm, tmp_path: Path
) -> None:
    """Every Secret that a Pod mounts is made, with the files to which the settings point."""
    leadership = Leadership(1, math.inf, time.monotonic)
    await Certificates(objects, NAMESPACE, "test").run(leadership)
    await LedgerSigningKeys(objects, NAMESPACE).run(leadership)
    mounted = {
        volume["secret"]["secretName"]
        for template in pod_templates(helm.objects(SWITCHES["defaults"])).values()
        for volume in template["spec"]["volumes"]
        if "secret" in volume
    }
    assert len(mounted) == 5
    assert mounted < set(SECRETS)
    _, signing = await admin.request("GET", f"{OWN}/secrets/{SIGNING}")
    key = tmp_path / "current.key"
    key.write_bytes(b64decode(signing["data"]["current.key"]))
    assert read_key(key) is not None
    for name in mounted - {SIGNING}:
        _, secret = await admin.request("GET", f"{OWN}/secrets/{name}")
        assert secret["type"] == "kubernetes.io/tls"
        assert all(secret["data"][key] for key in ("ca.crt", "tls.crt", "tls.key"))
    for kind in ("validatingwebhookconfigurations", "mutatingwebhookconfigurations"):
        _, item = await admin.request("GET", f"{WEBHOOKS}/{kind}/sallyport")
        _, secret = await admin.request("GET", f"{OWN}/secrets/sallyport-gate-tls")
        for webhook in item["webhooks"]:
            assert webhook["clientConfig"]["caBundle"] == secret["data"]["ca.crt"]


@pytest.mark.parametrize("server_side", ["true", "false"], ids=["Helm 4", "Helm 3"])
async def test_kinds_that_come_are_registered_and_outlive_an_upgrade(
    admin: Client, objects: Objects, apiserver: ApiServer, helm: Helm, server_side: str
) -> None:
    """In the registrations that the chart made, with the chart's gate; an Event says so."""
    template = {"type": "object", "properties": {"spec": _SPEC}}
    group = f"chart-{server_side}.example"
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"widgets.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": "Widget", "plural": "widgets"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {"type": "object", "properties": {"template": template}}
                    },
                }
            ],
        },
    }
    await admin.apply([definition])
    leadership = Leadership(1, math.inf, time.monotonic)
    loop = Discovery(objects, CollectorRegistry())
    await loop.run(leadership)
    flags = (f"--server-side={server_side}", "--force-conflicts=false")
    helm.install(apiserver.kubeconfig(), {"logFormat": "console"}, *flags)
    for kind, name in (
        ("validatingwebhookconfigurations", "discovered.sallyport.dev"),
        ("mutatingwebhookconfigurations", "discovered-notes.sallyport.dev"),
    ):
        _, item = await admin.request("GET", f"{WEBHOOKS}/{kind}/{NAME}")
        webhook = webhook_of(item, name)
        assert webhook is not None
        assert [group] in [each["apiGroups"] for each in webhook["rules"]]
        assert webhook["clientConfig"]["service"]["name"] == "sallyport-gate"
    _, events = await admin.request("GET", "/api/v1/namespaces/default/events")
    assert any(each["reason"] == "PodTemplatesFound" for each in events["items"])
    await admin.delete(definition)
    await loop.run(leadership)


async def test_the_sweep_can_keep_its_place(objects: Objects) -> None:
    """Its cursor is made, and changed."""
    store = CursorStore(objects, NAMESPACE, "test")
    await store.load()
    for _ in range(2):
        await store.save(Cursor(cluster="test"))
    assert await store.load() == (Cursor(cluster="test"), "")
