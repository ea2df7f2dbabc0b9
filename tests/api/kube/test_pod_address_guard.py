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

GUARD: Final = read_objects(Path("deploy/pod-address-guard.yaml"))
OWNER: Final = "pod-status-owner@example.com"
"""Who may write the status of a namespace's Pods."""
HOLDER: Final = "pod-status-holder@example.com"
"""Who besides holds `exempt`."""
NODE: Final = ("kubelet@example.com", ("system:nodes", "system:masters"))
"""By its group, and by no name for which kube-apiserver looks for the node's Pods."""
MERGE: Final = "application/merge-patch+json"
METADATA: Final = "168.63.129.16"


class Place:
    """A Pod in a namespace of its own, with the address that its kubelet told."""

    def __init__(self, admin: Client, namespace: str) -> None:
        self.admin = admin
        self.path = f"/api/v1/namespaces/{namespace}/pods/p/status"

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
    exempt = rule(["sallyport.dev"], "namespaces", "exempt")
    async with connect(apiserver) as admin:
        await admin.apply(GUARD)
        await admin.create_namespace(namespace)
        for each in grant("statuses", write, user(OWNER), user(HOLDER), namespace=namespace):
            await admin.create(each)
        for each in grant(f"exempt-{namespace}", exempt, user(HOLDER)):
            await admin.create(each)
        await admin.create(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": "p", "namespace": namespace},
                "spec": {
                    "containers": [{"name": "main", "image": "registry.example/a:1"}],
                    "automountServiceAccountToken": False,
                },
            }
        )
        attributes = {"resource": "pods", "subresource": "status", "namespace": namespace}
        await admin.as_user(OWNER).wait_until_can("update", attributes)
        made = Place(admin, namespace)
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
    """Wait until kube-apiserver evaluates the policy."""
    end = time.monotonic() + 60
    owner = place.admin.as_user(OWNER)
    parameters = {"dryRun": "All"}
    body = {"status": {"hostIP": "10.224.0.5", "hostIPs": [{"ip": "10.224.0.5"}]}}
    while True:
        status, _ = await owner.request(
            "PATCH", place.path, body, parameters=parameters, content_type=MERGE
        )
        if status == 403:
            return
        assert time.monotonic() < end, "the policy is not in force"
        await asyncio.sleep(0.2)


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
    assert "verb exempt on namespaces.sallyport.dev" in answer["message"]
    _, whole = await place.admin.request("GET", place.path)
    whole["status"] |= forged
    assert (await owner.request("PUT", place.path, whole))[0] == 403
    assert await place.addresses() == ["10.244.0.9"]


async def test_all_else_of_a_status_is_free(place: Place) -> None:
    """Conditions, phases, and addresses that go: controllers write them."""
    owner = place.admin.as_user(OWNER)
    ready = {"type": "example.com/gate", "status": "True"}
    assert (await place.patch(owner, conditions=[ready]))[0] == 200
    gone = {"phase": "Failed", "podIP": None, "podIPs": None}
    assert (await place.patch(owner, **gone))[0] == 200


async def test_holders_of_exempt_may(place: Place) -> None:
    """For nodes that are none of the group `system:nodes`."""
    holder = place.admin.as_user(HOLDER)
    other = {"podIP": "10.244.0.10", "podIPs": [{"ip": "10.244.0.10"}]}
    assert (await place.patch(holder, **other))[0] == 200
    assert await place.addresses() == ["10.244.0.10"]
