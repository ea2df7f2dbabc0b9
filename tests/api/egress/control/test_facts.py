"""What the controller asks for: time, rights to sets, approvals, Pods behind Services, names."""

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from control.egress import lookups, loop
from core.base import names
from core.egress.allowlists import parse_allowlist
from tests.api.egress.control.field import (
    FAR,
    OWN,
    PATIENCE_S,
    Field,
    allowlist,
    cidrs,
)
from tests.api.egress.control.pods import pod, running
from tests.api.kube.objects import new_name, wait_for
from tests.harness.fakes.dns_server import Behaviour, DnsServer, dns_server
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.client import Client, Json
from tests.harness.programs.egress_control import controlling, settings_of

ONE = "sallyport-allow-one-0"


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have everything asked again after a second: production's ages are tested as numbers."""
    monkeypatch.setattr(lookups, "SERVICE_AGE_S", 1.0)
    monkeypatch.setattr(lookups, "RIGHT_AGE_S", 1.0)
    monkeypatch.setattr(loop, "WAITS_S", 1.0)


def role(namespace: str, used: str) -> list[Json]:
    """Return what lets all service accounts of a namespace use a set."""
    metadata = {"name": f"use-{used}", "namespace": namespace}
    rule = {
        "apiGroups": ["sallyport.dev"],
        "resources": ["egressdestinations"],
        "resourceNames": [used],
        "verbs": ["use"],
    }
    group = f"system:serviceaccounts:{namespace}"
    return [
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "Role",
            "metadata": metadata,
            "rules": [rule],
        },
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "RoleBinding",
            "metadata": metadata,
            "roleRef": {
                "apiGroup": "rbac.authorization.k8s.io",
                "kind": "Role",
                "name": f"use-{used}",
            },
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": group}],
        },
    ]


def shared(name: str, *to: Json, **spec: Any) -> Json:
    """Return an EgressDestinations."""
    fields = {"to": [*to], "owner": "platform", "reason": "a test", **spec}
    return {
        "apiVersion": names.API_VERSION,
        "kind": "EgressDestinations",
        "metadata": {"name": name},
        "spec": fields,
    }


@pytest.mark.usefixtures("controlled")
async def test_sets_open_while_the_right_lasts(field: Field, client: Client) -> None:
    """A set that is not there, or may not be used, opens nothing; a change of it is followed."""
    name = new_name("set")
    entry = {"cidr": "192.0.2.0/24", "ports": [{"protocol": "TCP", "port": 443}]}
    await field.allow("one", {"destinations": {"name": name}})
    closed = await field.settle_reason("one", "Closed")
    assert f"there is no EgressDestinations {name}" in closed["message"]
    made = await client.create(shared(name, entry))

    async def is_refused() -> bool:
        return "may not use" in (await field.condition("one")).get("message", "")

    await wait_for(is_refused, PATIENCE_S)
    rights = role(field.name, name)
    await client.apply(rights)
    await field.settle_names(ONE)
    await client.patch(made, {"spec": {"to": [{**entry, "cidr": "198.51.100.0/24"}]}})
    await field.settle(lambda now: cidrs(now[ONE]) == ["198.51.100.0/24"])
    await client.delete(rights[1])
    await field.settle_names()
    await client.apply(rights)
    await field.settle_names(ONE)
    await client.delete(made)
    await field.settle_names()


@pytest.mark.usefixtures("controlled")
async def test_what_is_broad_waits_for_two_people(field: Field, client: Client) -> None:
    """It opens once two have approved it as it is, and closes when one takes it back."""
    intent = allowlist(field.name, "one", {"cidr": "192.0.0.0/9"})
    intent["metadata"]["annotations"] = {names.AUTHOR_ANNOTATION: "user:0000000000000001"}
    intent = await client.create(intent)
    waiting = await field.settle_reason("one", "NotApproved")
    assert "0 of 2 people" in waiting["message"]
    assert (await field.condition("one", "Approved"))["status"] == "False"
    await client.apply(approvers())
    digest = parse_allowlist(msgspec.json.encode(intent)).approvable.digest
    for person in ("carol", "dave"):
        await client.create(approval(intent, person, digest))
    await field.settle_names(ONE)
    assert (await field.settle_reason("one", "TwoPeople", "Approved"))["status"] == "True"
    await client.delete(approval(intent, "dave", digest))
    await field.settle_names()


def approvers() -> list[Json]:
    """Return what lets two people approve egress."""
    rule = {
        "apiGroups": ["sallyport.dev"],
        "resources": ["approvaltiers"],
        "resourceNames": ["egress"],
        "verbs": ["approve"],
    }
    group = "rbac.authorization.k8s.io"
    people = [{"apiGroup": group, "kind": "User", "name": each} for each in ("carol", "dave")]
    return [
        {
            "apiVersion": f"{group}/v1",
            "kind": "ClusterRole",
            "metadata": {"name": "test-approve-egress"},
            "rules": [rule],
        },
        {
            "apiVersion": f"{group}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": "test-approve-egress"},
            "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "test-approve-egress"},
            "subjects": people,
        },
    ]


def approval(intent: Json, person: str, digest: str) -> Json:
    """Return an Approval as the webhook records it."""
    metadata = intent["metadata"]
    return {
        "apiVersion": names.API_VERSION,
        "kind": "Approval",
        "metadata": {
            "name": f"{metadata['name']}-{person}",
            "namespace": metadata["namespace"],
            "annotations": {
                names.APPROVER_ANNOTATION: f"user:{person}",
                names.APPROVER_ACCOUNT_ANNOTATION: f'{{"user":"{person}"}}',
                names.APPROVED_UID_ANNOTATION: metadata["uid"],
                names.APPROVED_DIGEST_ANNOTATION: digest,
            },
        },
        "spec": {"for": {"kind": "EgressAllowlist", "name": metadata["name"]}, "expiresAt": FAR},
    }


def service(namespace: str) -> Json:
    """Return a Service whose port 80 is 8080 of its Pods."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "shop", "namespace": namespace},
        "spec": {
            "selector": {"app": "shop"},
            "ports": [{"name": "http", "protocol": "TCP", "port": 80, "targetPort": 8080}],
        },
    }


def endpoints(namespace: str, name: str, *addresses: str) -> Json:
    """Return an EndpointSlice of that Service."""
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": {"kubernetes.io/service-name": "shop"},
        },
        "addressType": "IPv4",
        "endpoints": [{"addresses": [each]} for each in addresses],
        "ports": [{"name": "http", "protocol": "TCP", "port": 8080}],
    }


@pytest.mark.usefixtures("controlled")
async def test_a_service_means_its_live_pods(field: Field, client: Client) -> None:
    """Addresses that no live Pod has stay closed, and are told; Pods come and go."""
    await client.create(service(field.name))
    first = await running(client, pod(field.name, "a", app="shop"), "10.9.0.1")
    await client.create(endpoints(field.name, "shop-a", "10.9.0.1", "203.0.113.9"))
    ports = [{"protocol": "TCP", "port": 80}]
    await field.allow("one", {"service": {"name": "shop"}, "ports": ports})
    found = await field.settle_names(ONE)
    assert cidrs(found[ONE]) == ["10.9.0.1/32"]
    rule = found[ONE]["spec"]["egress"][0]
    assert rule["ports"] == [{"protocol": "TCP", "port": 8080}]
    warned = await field.settle_reason("one", "SeeMessage", "Warned")
    assert "203.0.113.9 belongs to no live Pod" in warned["message"]
    await running(client, pod(field.name, "b", app="shop"), "10.9.0.2")
    await client.create(endpoints(field.name, "shop-b", "10.9.0.2"))
    await field.settle(lambda now: cidrs(now[ONE]) == ["10.9.0.1/32", "10.9.0.2/32"])
    await client.delete(first)
    await field.settle(lambda now: cidrs(now[ONE]) == ["10.9.0.2/32"])
    await client.delete(endpoints(field.name, "shop-b"))
    await field.settle_names()
    await client.delete(service(field.name))

    async def is_told() -> bool:
        return "there is no Service" in (await field.condition("one")).get("message", "")

    await wait_for(is_told, PATIENCE_S)


@pytest.fixture
def dns() -> Iterator[DnsServer]:
    """A name server on loopback."""
    with dns_server() as server:
        yield server


async def test_names_open_by_what_is_stored(
    apiserver: ApiServer, client: Client, dns: DnsServer
) -> None:
    """A name opens once it is stored; a restart without name servers leaves the same bytes."""
    field = Field(client, new_name("egress"))
    await field.prepare()
    host = f"{field.name}.example.com"
    dns.set(host, "192.0.2.7", "169.254.169.254")
    resolver = {"servers": [f"127.0.0.1:{dns.port}"], "timeout": 1, "tries": 1}
    times = {"min_refresh": 1, "max_refresh": 1, "quiet": 2}
    settings = settings_of(apiserver.kubeconfig(), OWN, {"resolver": resolver, "names": times})
    async with controlling(settings):
        await field.allow("one", {"dnsName": host})
        found = await field.settle_names(ONE)
        assert cidrs(found[ONE]) == ["192.0.2.7/32"]
        stored = await client.get("v1", "ConfigMap", "sallyport-egress-names-0", OWN)
        assert "192.0.2.7" in stored["data"]["names.json"]
        warned = await field.settle_reason("one", "SeeMessage", "Warned")
        assert "169.254.169.254" in warned["message"]
        learning = await field.settle_reason("one", "Settled", "Learning")
        assert learning["status"] == "False", "it was True until nothing new came for 2 s"
        await field.settle_reason("one", "Open")
        dns.set(host, "192.0.2.8")
        found = await field.settle(lambda now: len(cidrs(now[ONE])) == 2)
        dns.set(host, behaviour=Behaviour.FAILS)
    before = found[ONE]["metadata"]["resourceVersion"]
    async with controlling(settings) as again:
        await wait_for(lambda: again.metric("sallyport_egress_resolver_failures_total") > 0, 15)
        await wait_for(lambda: not again.egress.queue, PATIENCE_S)
        found = await field.policies()
        assert found[ONE]["metadata"]["resourceVersion"] == before
        assert (await field.condition("one"))["status"] == "True"


def told_by(slice_name: str, address: str) -> Json:
    """Return an EndpointSlice of kube-apiserver's Service; this one tells nothing of itself."""
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "name": slice_name,
            "namespace": "default",
            "labels": {"kubernetes.io/service-name": "kubernetes"},
        },
        "addressType": "IPv4",
        "endpoints": [{"addresses": [address]}],
        "ports": [{"name": "https", "protocol": "TCP", "port": 6443}],
    }


@pytest.mark.usefixtures("controlled")
async def test_kube_apiserver_is_open_by_the_addresses_that_it_tells(field: Field) -> None:
    """Those of its own slice; one that somebody else adds to its Service opens nothing."""
    slices = [told_by("kubernetes", "198.51.100.4"), told_by(new_name("forged"), "203.0.113.66")]
    for each in slices:
        await field.client.create(each)
    try:
        await field.allow("one", {"service": {"namespace": "default", "name": "kubernetes"}})
        policy = (await field.settle_names(ONE))[ONE]
        assert cidrs(policy) == ["198.51.100.4/32"]
        (rule,) = policy["spec"]["egress"]
        assert [each["port"] for each in rule["ports"]] == [6443]
        warned = await field.settle_reason("one", "SeeMessage", "Warned")
        assert "is none of kube-apiserver's" in warned["message"]
    finally:
        for each in slices:
            await field.client.delete(each)
