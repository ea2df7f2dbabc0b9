"""Nobody but its kubelet gives a Pod an address: egress is opened by the addresses of Pods."""

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final

import pytest

from tests.api.kube.objects import new_name
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.client import Client, Json, connect, read_objects
from tests.harness.worlds.rbac import grant, rule, user

GUARD: Final = [
    *read_objects(Path("deploy/pod-address-guard.yaml")),
    *read_objects(Path("deploy/pod-annotation-guard.yaml")),
    *read_objects(Path("deploy/endpointslice-guard.yaml")),
]
OWNER: Final = "pod-status-owner@example.com"
"""Who may write the status of a namespace's Pods."""
HOLDER: Final = "pod-status-holder@example.com"
"""Who besides holds `address`: a virtual kubelet."""
NODE: Final = ("kubelet@example.com", ("system:nodes", "system:masters"))
"""By its group, and by no name for which kube-apiserver looks for the node's Pods."""
MERGE: Final = "application/merge-patch+json"
SLICES: Final = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
METADATA: Final = "168.63.129.16"


class Place:
    """A Pod in a namespace of its own, with the address that its kubelet told."""

    def __init__(self, admin: Client, namespace: str) -> None:
        self.admin = admin
        self.namespace = namespace
        self.pods = f"/api/v1/namespaces/{namespace}/pods"
        self.path = f"{self.pods}/p/status"

    def pod(self, name: str, annotations: Json | None = None) -> Json:
        """Return a Pod of the namespace."""
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": name,
                "namespace": self.namespace,
                "annotations": annotations or {},
            },
            "spec": {
                "containers": [{"name": "main", "image": "registry.example/a:1"}],
                "automountServiceAccountToken": False,
            },
        }

    async def patch(self, client: Client, **status: Any) -> tuple[int, Json]:
        """Merge into the Pod's status."""
        return await client.request("PATCH", self.path, {"status": status}, content_type=MERGE)

    async def addresses(self) -> list[str]:
        """Return the Pod's addresses as stored."""
        _, found = await self.admin.request("GET", self.path)
        return [each["ip"] for each in found["status"].get("podIPs", ())]


@pytest.fixture
async def place(apiserver: ApiServer) -> AsyncIterator[Place]:
    """A cluster with the guard in force."""
    namespace = new_name("addresses")
    write = rule([""], "pods/status", "get update patch")
    address = rule(["sallyport.dev"], "pods", "address")
    async with connect(apiserver) as admin:
        await admin.apply(GUARD)
        await admin.create_namespace(namespace)
        for each in grant("statuses", write, user(OWNER), user(HOLDER), namespace=namespace):
            await admin.create(each)
        pods = rule([""], "pods", "get create update patch")
        for each in grant("pods", pods, user(OWNER), namespace=namespace):
            await admin.create(each)
        slices = rule(["discovery.k8s.io"], "endpointslices", "create")
        await admin.apply(grant("slices-of-default", slices, user(OWNER), namespace="default"))
        for each in grant("addresses", address, user(HOLDER), namespace=namespace):
            await admin.create(each)
        made = Place(admin, namespace)
        await admin.create(made.pod("p"))
        attributes = {"resource": "pods", "subresource": "status", "namespace": namespace}
        await admin.as_user(OWNER).wait_until_can("update", attributes)
        kubelet = admin.as_user(*NODE)
        told = {"podIP": "10.244.0.9", "podIPs": [{"ip": "10.244.0.9"}], "hostIP": "10.224.0.4"}
        assert (await made.patch(kubelet, **told))[0] == 200
        await _until_guarded(made)
        try:
            yield made
        finally:
            for one in GUARD:
                await admin.delete(one)


async def _until_guarded(place: Place) -> None:
    """Wait until kube-apiserver evaluates all policies."""
    end = time.monotonic() + 60
    status = {"status": {"hostIP": "10.224.0.5", "hostIPs": [{"ip": "10.224.0.5"}]}}
    said = {"metadata": {"annotations": {"cni.projectcalico.org/podIP": "203.0.113.66/32"}}}
    for method, path, body in (
        ("PATCH", place.path, status),
        ("PATCH", f"{place.pods}/p", said),
        ("POST", SLICES, _slice("forged", "kubernetes")),
    ):
        while not await _is_refused(place, method, path, body):
            assert time.monotonic() < end, "a policy is not in force"
            await asyncio.sleep(0.2)


async def _is_refused(place: Place, method: str, path: str, body: Json) -> bool:
    form = {"content_type": MERGE} if method == "PATCH" else {}
    asked = place.admin.as_user(OWNER).request(
        method, path, body, parameters={"dryRun": "All"}, **form
    )
    return (await asked)[0] == 403


@pytest.mark.parametrize(
    "forged",
    [
        {"podIP": METADATA, "podIPs": [{"ip": METADATA}]},
        {"podIPs": [{"ip": "10.244.0.9"}, {"ip": "2001:db8::1"}]},
        {"hostIP": "10.224.0.5", "hostIPs": [{"ip": "10.224.0.5"}]},
    ],
    ids=["another", "one more", "another node's"],
)
async def test_who_writes_statuses_gives_no_pod_another_address(place: Place, forged: Json) -> None:
    """By patch and by put; the message says who may."""
    owner = place.admin.as_user(OWNER)
    status, answer = await place.patch(owner, **forged)
    assert status == 403, answer
    assert "verb address on pods.sallyport.dev" in answer["message"]
    _, whole = await place.admin.request("GET", place.path)
    whole["status"] |= forged
    assert (await owner.request("PUT", place.path, whole))[0] == 403
    assert await place.addresses() == ["10.244.0.9"]


async def test_all_else_of_a_status_is_free(place: Place) -> None:
    """Conditions, phases, and addresses that go: controllers write them."""
    owner = place.admin.as_user(OWNER)
    ready = {"type": "example.com/gate", "status": "True"}
    assert (await place.patch(owner, conditions=[ready]))[0] == 200
    assert (await place.patch(owner, phase="Failed"))[0] == 200


async def test_a_pod_that_has_ended_does_not_run_again(place: Place) -> None:
    """Its address may be another Pod's by then."""
    owner = place.admin.as_user(OWNER)
    assert (await place.patch(owner, phase="Succeeded"))[0] == 200
    status, answer = await place.patch(owner, phase="Running")
    assert (status, "the phase" in answer["message"]) == (403, True), answer


async def test_a_virtual_kubelet_with_the_verb_may(place: Place) -> None:
    """Such as that of Azure's virtual nodes, which is a service account."""
    holder = place.admin.as_user(HOLDER)
    other = {"podIP": "10.244.0.10", "podIPs": [{"ip": "10.244.0.10"}]}
    assert (await place.patch(holder, **other))[0] == 200
    assert await place.addresses() == ["10.244.0.10"]


@pytest.mark.parametrize("key", ["podIP", "podIPs"])
async def test_authors_of_pods_say_no_addresses_to_calico(place: Place, key: str) -> None:
    """It takes them from annotations until the status has some; others are free."""
    author = place.admin.as_user(OWNER)
    said = {f"cni.projectcalico.org/{key}": "203.0.113.66/32"}
    status, answer = await author.request("POST", place.pods, place.pod("forged", said))
    assert (status, "cni.projectcalico.org" in answer["message"]) == (403, True), answer
    status, _ = await author.request("POST", place.pods, place.pod("free", {"example.com/a": "b"}))
    assert status == 201
    body = {"metadata": {"annotations": said}}
    status, _ = await author.request("PATCH", f"{place.pods}/p", body, content_type=MERGE)
    assert status == 403


async def test_nobody_else_says_where_kube_apiserver_is(place: Place) -> None:
    """Neither by a slice of its Service, nor by its own; other slices are free."""
    writer = place.admin.as_user(OWNER)
    for name, service in (("kubernetes", "other"), ("forged", "kubernetes")):
        status, answer = await writer.request("POST", SLICES, _slice(name, service))
        assert (status, "where kube-apiserver is" in answer["message"]) == (403, True), answer
    other = _slice(new_name("other"), "other")
    assert (await writer.request("POST", SLICES, other))[0] == 201
    await place.admin.delete(other)


def _slice(name: str, service: str) -> Json:
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "name": name,
            "namespace": "default",
            "labels": {"kubernetes.io/service-name": service},
        },
        "addressType": "IPv4",
        "endpoints": [{"addresses": ["203.0.113.66"]}],
        "ports": [{"name": "https", "protocol": "TCP", "port": 443}],
    }
