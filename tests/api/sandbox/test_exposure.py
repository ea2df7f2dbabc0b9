"""What lets traffic in, and how old an account is, is in memory soon after it is so."""

import time
from collections.abc import AsyncIterator, Mapping
from functools import partial
from typing import Any

import pytest

from kube.cluster.live import LiveCluster
from tests.api.kube.objects import is_answered, new_name, wait_for
from tests.api.sandbox.conftest import BOXED, OPEN
from tests.harness.programs.client import Client, Json
from tests.harness.programs.guarded_apiserver import Installation

INTERNAL = {"service.beta.kubernetes.io/azure-load-balancer-internal": "true"}
SOON_S = 60.0


def service(name: str, selector: Mapping[str, str], **spec: Any) -> Json:
    """Return a Service."""
    metadata = {"name": name, "namespace": OPEN}
    spec = {"selector": dict(selector), "ports": [{"port": 80}], **spec}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}


@pytest.fixture
async def live(installation: Installation) -> AsyncIterator[LiveCluster]:
    """What a gate has in memory, its Services and ServiceAccounts loaded."""
    cluster = LiveCluster(installation.apiserver.kubeconfig())
    await cluster.start()
    try:
        await wait_for(lambda: is_answered(lambda: cluster.exposing_services(OPEN, {})), 10)
        made = partial(cluster.service_account_made, OPEN, "default")
        await wait_for(lambda: is_answered(made), 10)
        yield cluster
    finally:
        await cluster.stop()


@pytest.mark.parametrize(
    "spec",
    [{"type": "LoadBalancer"}, {"type": "NodePort"}, {"externalIPs": ["20.50.2.3"]}],
    ids=["LoadBalancer", "NodePort", "externalIPs"],
)
async def test_a_service_is_seen_until_it_lets_nothing_in(
    admin: Client, live: LiveCluster, spec: Json
) -> None:
    """Made, and made one of the cluster alone: seen for its Pods, in its namespace, and gone."""
    name = new_name("exposing")
    labels = {"app": name, "tier": "front"}
    made = service(name, {"app": name}, **spec)
    await admin.create(made)
    await wait_for(lambda: live.exposing_services(OPEN, labels) == (name,), SOON_S)
    assert live.exposing_services(OPEN, {"tier": "front"}) == ()
    assert live.exposing_services(BOXED, labels) == ()
    await admin.patch(made, {"spec": {"type": "ClusterIP", "externalIPs": None}})
    await wait_for(lambda: live.exposing_services(OPEN, labels) == (), SOON_S)
    await admin.patch(made, {"spec": spec})
    await wait_for(lambda: live.exposing_services(OPEN, labels) == (name,), SOON_S)
    await admin.delete(made)
    await wait_for(lambda: live.exposing_services(OPEN, labels) == (), SOON_S)


async def test_a_selector_that_changes_selects_others(admin: Client, live: LiveCluster) -> None:
    """Those that it selects now, and no longer those that it did; without one, nobody."""
    name = new_name("selecting")
    made = service(name, {"app": f"{name}-a"}, type="NodePort")
    await admin.create(made)
    await wait_for(lambda: live.exposing_services(OPEN, {"app": f"{name}-a"}) == (name,), SOON_S)
    await admin.patch(made, {"spec": {"selector": {"app": f"{name}-b"}}})
    await wait_for(lambda: live.exposing_services(OPEN, {"app": f"{name}-b"}) == (name,), SOON_S)
    assert live.exposing_services(OPEN, {"app": f"{name}-a"}) == ()
    await admin.patch(made, {"spec": {"selector": None}})
    await wait_for(lambda: live.exposing_services(OPEN, {"app": f"{name}-b"}) == (), SOON_S)
    await admin.delete(made)


async def test_a_load_balancer_counts_once_it_is_not_kept_inside(
    admin: Client, live: LiveCluster
) -> None:
    """With Azure's annotation it does not; with a public address it does nevertheless."""
    name, other = new_name("inside"), new_name("outside")
    labels = {"app": name}
    made = service(name, labels, type="LoadBalancer")
    made["metadata"]["annotations"] = INTERNAL
    await admin.create(made)
    await admin.create(service(other, labels, type="NodePort"))
    await wait_for(lambda: live.exposing_services(OPEN, labels) == (other,), SOON_S)
    path = f"/api/v1/namespaces/{OPEN}/services/{name}"
    for address, seen in (("10.1.2.3", (other,)), ("20.50.2.3", (name, other))):
        given = {"status": {"loadBalancer": {"ingress": [{"ip": address}]}}}
        status, _ = await admin.request(
            "PATCH", f"{path}/status", given, content_type="application/merge-patch+json"
        )
        assert status == 200
        await admin.create(marker := service(new_name("mark"), {"mark": address}, type="NodePort"))
        await wait_for(lambda: live.exposing_services(OPEN, {"mark": address}) != (), SOON_S)  # noqa: B023
        assert live.exposing_services(OPEN, labels) == seen
        await admin.delete(marker)
    for each in (made, service(other, labels)):
        await admin.delete(each)


async def test_an_account_made_again_is_as_old_as_the_new_one(
    admin: Client, live: LiveCluster
) -> None:
    """It is unknown, made now, unknown again, and made later than before."""
    name = new_name("account")
    assert live.service_account_made(OPEN, name) is None
    account = {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": name, "namespace": OPEN},
    }
    await admin.create(account)
    first = await made_of(live, name)
    assert abs(first - time.time()) < 60
    assert live.service_account_made(BOXED, name) is None
    await admin.delete(account)
    await wait_for(lambda: live.service_account_made(OPEN, name) is None, SOON_S)
    # Kubernetes counts in whole seconds.
    await wait_for(lambda: time.time() > first + 1, SOON_S)
    await admin.create(account)
    assert await made_of(live, name) > first


async def made_of(live: LiveCluster, name: str) -> float:
    """Return when it was made, once that is known."""
    await wait_for(lambda: live.service_account_made(OPEN, name) is not None, SOON_S)
    made = live.service_account_made(OPEN, name)
    assert made is not None
    return made
