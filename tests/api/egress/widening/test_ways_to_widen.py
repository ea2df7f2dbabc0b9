"""An allowlist opens nothing more without its approvers, whatever its author tries.

The author may do everything in the namespace that RBAC can give. Each way ends the same: refused,
or written and without effect; nothing is open but DNS and what was opened before.
"""

from collections.abc import Awaitable, Callable, Iterator
from typing import Any, Final

import pytest

from core.egress.pod_labels import egress_labels
from tests.api.egress.intents.people import ANN, AUTHOR, BEN, HTTPS, let_use, new_name, shared
from tests.api.egress.widening.enrolled_namespace import (
    ADMINS,
    NODES,
    PODS,
    SERVICES,
    EnrolledNamespace,
    endpoint_slice,
    pod_of,
    policy,
    service,
)
from tests.harness.evidence import record
from tests.harness.programs.client import ApiStatusError, Json
from tests.harness.sizes import PROOF

REFUSED: Final = "refused"
WITHOUT_EFFECT: Final = "without effect"

TARGET: Final = "198.51.100.7"
WIRE_SERVER: Final = "168.63.129.16"
METADATA: Final = "169.254.169.254"
_NETWORKING: Final = "/apis/networking.k8s.io/v1/namespaces"

Way = Callable[[EnrolledNamespace], Awaitable[str]]
"""Tries something; returns the refusal, empty where it was done."""


async def test_what_two_others_approve_is_open(place: EnrolledNamespace) -> None:
    """Without that no other test here would show anything."""
    wide = await place.allow({"cidr": "0.0.0.0/0"})
    await place.approve_by_two(wide)
    await place.settle_opened("0.0.0.0/0")
    assert await place.opened() == ["0.0.0.0/0"]


async def test_a_service_opens_where_its_pods_are(
    place: EnrolledNamespace,
) -> None:
    """Without that no test of forged addresses would show anything."""
    await place.serve("api", "10.244.3.4")
    await place.allow({"service": {"name": "api"}})
    await place.settle_opened("10.244.3.4/32")
    assert await place.opened() == ["10.244.3.4/32"]


async def test_a_name_opens_where_it_is(place: EnrolledNamespace) -> None:
    """Without that no test of names would show anything."""
    name = f"{place.name}.example.com"
    place.names.set(name, "203.0.113.44", ttl=1)
    await place.allow({"dnsName": name})
    await place.settle_opened("203.0.113.44/32")
    assert await place.opened() == ["203.0.113.44/32"]


async def test_allowlists_open_no_more_together_than_one_may(place: EnrolledNamespace) -> None:
    """Each is within the limit by itself; the one that goes beyond it is refused."""
    within = ["198.18.0.0/17", "198.51.128.0/17"]
    for number, cidr in enumerate(within):
        await place.allow({"cidr": cidr}, name=f"part-{number}")
        await place.settle_opened(cidr)
    with pytest.raises(ApiStatusError, match="egress/together"):
        await place.allow({"cidr": "203.0.0.0/17"}, name="part-2")
    assert await place.opened() == within


async def _allow(place: EnrolledNamespace, *to: Json, **spec: Any) -> str:
    try:
        await place.allow(*to, **spec)
    except ApiStatusError as error:
        return error.message
    return ""


def _writes(*to: Json, **spec: Any) -> Way:
    """Write an allowlist."""

    async def way(place: EnrolledNamespace) -> str:
        return await _allow(place, *to, **spec)

    return way


async def _halves(place: EnrolledNamespace) -> str:
    """Half of the Internet in each of two allowlists."""
    first = await _allow(place, {"cidr": "0.0.0.0/1"}, name="low")
    return first or await _allow(place, {"cidr": "128.0.0.0/1"}, name="high")


async def _many_networks(place: EnrolledNamespace) -> str:
    """Many networks, each within the limit, in eight allowlists."""
    for number in range(8):
        to: list[Json] = [{"cidr": f"{20 + number}.{each}.0.0/16"} for each in range(64)]
        if refusal := await _allow(place, *to, name=f"part-{number}"):
            return refusal
    return ""


async def _own_approval(place: EnrolledNamespace) -> str:
    """The author, who may approve others', approves too; one other person does."""
    wide = await place.allow({"cidr": "0.0.0.0/0"})
    try:
        await place.approve(wide, AUTHOR, ANN)
    except ApiStatusError as error:
        return error.message
    return ""


async def _twice_the_same(place: EnrolledNamespace) -> str:
    """One person approves twice."""
    wide = await place.allow({"cidr": "0.0.0.0/0"})
    try:
        await place.approve(wide, ANN, ANN)
    except ApiStatusError as error:
        return error.message
    return ""


async def _changed_after_approval(place: EnrolledNamespace) -> str:
    """Something narrow within a broad network is approved, and then widened."""
    wide = await place.allow({"cidr": "198.0.0.0/8"})
    await place.approve_by_two(wide)
    spec = {**wide["spec"], "to": [{"cidr": "0.0.0.0/0", "ports": HTTPS}]}
    try:
        await place.author.patch(wide, {"spec": spec})
    except ApiStatusError as error:
        return error.message
    return ""


async def _made_anew(place: EnrolledNamespace) -> str:
    """What was approved is deleted, and another one takes its name."""
    wide = await place.allow({"cidr": "198.0.0.0/8"})
    await place.approve_by_two(wide)
    await place.author.delete(wide)
    path = f"/apis/sallyport.dev/v1alpha1/namespaces/{place.name}/egressallowlists/wide"
    await place.author.wait_until_gone(path)
    return await _allow(place, {"cidr": "0.0.0.0/0"})


async def _forged_author(place: EnrolledNamespace) -> str:
    """The author writes another one into the annotation, so that they can approve it."""
    wide = await place.allow({"cidr": "0.0.0.0/0"})
    mark = {"metadata": {"annotations": {"sallyport.dev/author": ANN}}}
    try:
        await place.author.patch(wide, mark)
        await place.approve(wide, AUTHOR, BEN)
    except ApiStatusError as error:
        return error.message
    return ""


async def _edited_by_an_approver(place: EnrolledNamespace) -> str:
    """One of two approvers changes it before both approve."""
    wide = await place.allow({"cidr": "198.51.100.0/24"})
    ann = place.admin.as_user(ANN, [ADMINS, "system:authenticated"])
    spec = {**wide["spec"], "to": [{"cidr": "0.0.0.0/0", "ports": HTTPS}]}
    changed = await ann.patch(wide, {"spec": spec})
    try:
        await place.approve(changed, ANN, BEN)
    except ApiStatusError as error:
        return error.message
    return ""


async def _set_of_nobody(place: EnrolledNamespace) -> str:
    """A broad set that nobody approved, which the account may use."""
    name = new_name("everything")
    await place.admin.as_user(AUTHOR).create(shared(name, {"cidr": "0.0.0.0/0"}))
    await let_use(place.admin, place.name, "trainer", name)
    return await _allow(place, {"destinations": {"name": name}})


async def _set_of_others(place: EnrolledNamespace) -> str:
    """An approved set that the account may not use."""
    name = new_name("others")
    made = await place.admin.as_user(AUTHOR).create(shared(name, {"cidr": "0.0.0.0/0"}))
    await place.approve_by_two(made)
    return await _allow(place, {"destinations": {"name": name}})


def _in_status(address: str) -> Way:
    async def way(place: EnrolledNamespace) -> str:
        """Give a Pod of one's own an address by its status, and name it by a Service."""
        await place.author.create(pod_of(place.name, "forged", "trainer", app="api"))
        await place.author.create(service(place.name, "api", selector={"app": "api"}))
        await place.author.create(endpoint_slice(place.name, "api-1", "api", address))
        status = {"phase": "Running", "podIP": address, "podIPs": [{"ip": address}]}
        path = f"/api/v1/namespaces/{place.name}/pods/forged/status"
        refusal = await place.attempt("PATCH", path, {"status": status})
        return await _allow(place, {"service": {"name": "api"}}) or refusal

    return way


def _by_kubelet(address: str) -> Way:
    async def way(place: EnrolledNamespace) -> str:
        """Some Pod has a strange address, as where the guard of addresses is not installed."""
        await place.serve("api", address)
        return await _allow(place, {"service": {"name": "api"}})

    return way


async def _slice_without_pod(place: EnrolledNamespace) -> str:
    """A Service without a selector, with an EndpointSlice of any address."""
    await place.author.create(service(place.name, "api"))
    await place.author.create(endpoint_slice(place.name, "api-1", "api", TARGET))
    return await _allow(place, {"service": {"name": "api"}})


async def _slice_of_another_pod(place: EnrolledNamespace) -> str:
    """An EndpointSlice that names a real Pod, and another address."""
    made = await place.running_pod("real", "10.244.3.5", app="other")
    of = {"kind": "Pod", "name": "real", "namespace": place.name, "uid": made["metadata"]["uid"]}
    await place.author.create(service(place.name, "api"))
    told = endpoint_slice(place.name, "api-1", "api", "10.244.7.7", targetRef=of)
    await place.author.create(told)
    return await _allow(place, {"service": {"name": "api"}})


async def _external_name(place: EnrolledNamespace) -> str:
    """A Service that is another name for a public one."""
    place.names.set("big.example.com", TARGET, ttl=1)
    spec = {"type": "ExternalName", "externalName": "big.example.com"}
    await place.author.create(service(place.name, "api", **spec))
    return await _allow(place, {"service": {"name": "api"}})


async def _slice_of_kube_apiserver(place: EnrolledNamespace) -> str:
    """An EndpointSlice of the author's for a Service named as kube-apiserver's."""
    await place.author.create(service(place.name, "kubernetes"))
    await place.author.create(endpoint_slice(place.name, "kubernetes", "kubernetes", TARGET))
    return await _allow(place, {"service": {"name": "kubernetes"}})


def _resolves(*addresses: str, alias: str = "") -> Way:
    async def way(place: EnrolledNamespace) -> str:
        """A name of the author's own, whose DNS server answers what they like."""
        name = f"{place.name}.example.com"
        if alias:
            place.names.set(alias, *addresses, ttl=1)
            place.names.set(name, alias=alias, ttl=1)
        else:
            place.names.set(name, *addresses, ttl=1)
        refusal = await _allow(place, {"dnsName": name})
        await place.settle_asked(name)
        return refusal

    return way


async def _labels_of_another(place: EnrolledNamespace) -> str:
    """A Pod with the labels of another account."""
    await place.admin.create_service_account("rich", place.name)
    forged = pod_of(place.name, "forger", "default", **egress_labels("rich", None))
    made = await place.author.create(forged)
    assert made["metadata"]["labels"] == egress_labels("default", None)
    relabel = {"metadata": {"labels": egress_labels("rich", None)}}
    return await place.attempt("PATCH", f"/api/v1/namespaces/{place.name}/pods/forger", relabel)


async def _own_policy(place: EnrolledNamespace) -> str:
    """A NetworkPolicy that opens everything: policies add up."""
    return await place.attempt(
        "POST", f"{_NETWORKING}/{place.name}/networkpolicies", policy(place.name, "all", {})
    )


async def _own_cilium_policy(place: EnrolledNamespace) -> str:
    """The same for Cilium."""
    path = f"/apis/cilium.io/v2/namespaces/{place.name}/ciliumnetworkpolicies"
    item = {
        "apiVersion": "cilium.io/v2",
        "kind": "CiliumNetworkPolicy",
        "metadata": {"name": "all", "namespace": place.name},
        "spec": {"endpointSelector": {}, "egress": [{"toEntities": ["all"]}]},
    }
    return await place.attempt("POST", path, item)


async def _edited_policy(place: EnrolledNamespace) -> str:
    """The policy that closes the namespace, opened."""
    path = f"{_NETWORKING}/{place.name}/networkpolicies/sallyport-default-deny"
    return await place.attempt("PATCH", path, {"spec": {"egress": [{}]}})


async def _deleted_policy(place: EnrolledNamespace) -> str:
    """The policy that closes the namespace, deleted."""
    path = f"{_NETWORKING}/{place.name}/networkpolicies/sallyport-default-deny"
    return await place.attempt("DELETE", path, {})


def _marks(labels: Json, annotations: Json | None = None) -> Way:
    async def way(place: EnrolledNamespace) -> str:
        """Another mark of the namespace."""
        metadata = {"labels": labels, "annotations": annotations or {}}
        path = f"/api/v1/namespaces/{place.name}"
        return await place.attempt("PATCH", path, {"metadata": metadata})

    return way


WAYS: Final[dict[str, tuple[Way, str]]] = {
    "the whole Internet": (_writes({"cidr": "0.0.0.0/0"}), WITHOUT_EFFECT),
    "all of IPv6": (_writes({"cidr": "::/0"}), WITHOUT_EFFECT),
    "two halves in one allowlist": (
        _writes({"cidr": "0.0.0.0/1"}, {"cidr": "128.0.0.0/1"}),
        WITHOUT_EFFECT,
    ),
    "two halves in two allowlists": (_halves, WITHOUT_EFFECT),
    "many networks in many allowlists": (_many_networks, WITHOUT_EFFECT),
    "an IPv4 network written as IPv6": (_writes({"cidr": "::ffff:0.0.0.0/96"}), REFUSED),
    "all of IPv4 by NAT64": (_writes({"cidr": "64:ff9b::/96"}), WITHOUT_EFFECT),
    "the cluster's Pods as a network": (_writes({"cidr": PODS}), WITHOUT_EFFECT),
    "the cluster's nodes as a network": (_writes({"cidr": NODES}), WITHOUT_EFFECT),
    "the cluster's Services as a network": (_writes({"cidr": SERVICES}), WITHOUT_EFFECT),
    "all ports of a network": (
        _writes({"cidr": f"{TARGET}/32", "ports": None, "allPorts": True}),
        WITHOUT_EFFECT,
    ),
    "all Pods of all namespaces": (_writes({"pods": {"namespaceSelector": {}}}), WITHOUT_EFFECT),
    "the author approves too": (_own_approval, REFUSED),
    "one person approves twice": (_twice_the_same, WITHOUT_EFFECT),
    "changed after it was approved": (_changed_after_approval, WITHOUT_EFFECT),
    "made anew by the name that was approved": (_made_anew, WITHOUT_EFFECT),
    "another author is written into it": (_forged_author, REFUSED),
    "an approver widened it": (_edited_by_an_approver, REFUSED),
    "a broad set that nobody approved": (_set_of_nobody, WITHOUT_EFFECT),
    "a set that the account may not use": (_set_of_others, REFUSED),
    "pods/status: an address outside": (_in_status(TARGET), REFUSED),
    "pods/status: Azure's wire server": (_in_status(WIRE_SERVER), REFUSED),
    "pods/status: a node": (_in_status("10.1.0.4"), REFUSED),
    "pods/status: another namespace's Pod": (_in_status("10.244.8.8"), REFUSED),
    "a Pod at an address outside": (_by_kubelet(TARGET), WITHOUT_EFFECT),
    "a Pod at Azure's wire server": (_by_kubelet(WIRE_SERVER), WITHOUT_EFFECT),
    "a Pod at a node's address": (_by_kubelet("10.1.0.4"), WITHOUT_EFFECT),
    "an EndpointSlice without a Pod": (_slice_without_pod, WITHOUT_EFFECT),
    "an EndpointSlice of another address": (_slice_of_another_pod, WITHOUT_EFFECT),
    "a Service of type ExternalName": (_external_name, WITHOUT_EFFECT),
    "a Service named as kube-apiserver's": (_slice_of_kube_apiserver, WITHOUT_EFFECT),
    "a name that resolves to metadata": (_resolves(METADATA), WITHOUT_EFFECT),
    "a name that resolves to a node": (_resolves("10.1.0.4"), WITHOUT_EFFECT),
    "a name that resolves to a private address": (_resolves("172.20.0.9"), WITHOUT_EFFECT),
    "a name that is another's, of shared storage": (
        _resolves("20.60.1.1", alias="mine.blob.core.windows.net"),
        WITHOUT_EFFECT,
    ),
    "shared storage by its name": (
        _writes({"dnsName": "mine.blob.core.windows.net"}),
        WITHOUT_EFFECT,
    ),
    "another account's labels": (_labels_of_another, REFUSED),
    "a NetworkPolicy of one's own": (_own_policy, REFUSED),
    "a CiliumNetworkPolicy of one's own": (_own_cilium_policy, REFUSED),
    "the default deny is edited": (_edited_policy, REFUSED),
    "the default deny is deleted": (_deleted_policy, REFUSED),
    "the namespace is opened": (_marks({"sallyport.dev/egress": "open"}), REFUSED),
    "the namespace is audited": (_marks({"sallyport.dev/egress": "audit"}), REFUSED),
    "the namespace loses its label": (_marks({"sallyport.dev/egress": None}), REFUSED),
    "workloads alone are closed": (
        _marks({}, {"sallyport.dev/egress-workloads": "Job/none"}),
        REFUSED,
    ),
}


@pytest.fixture(scope="module")
def notes() -> Iterator[list[str]]:
    """What became of each way; a page of it in a proof."""
    found = [
        "- Real kube-apiserver and etcd, gate, shipped ValidatingAdmissionPolicies, control; the",
        "  author may do everything in the namespace that RBAC can give",
    ]
    yield found
    if PROOF:
        record("egress-widening", found)


@pytest.mark.proof
@pytest.mark.parametrize("way", WAYS)
async def test_nothing_opens_without_its_approvers(
    place: EnrolledNamespace, way: str, notes: list[str]
) -> None:
    """Refused, or without effect: nothing but DNS is open afterwards."""
    attempt, expected = WAYS[way]
    refusal = await attempt(place)
    assert (REFUSED if refusal else WITHOUT_EFFECT) == expected, refusal
    assert await place.opened() == []
    notes.append(f"- {way}: {expected}")
