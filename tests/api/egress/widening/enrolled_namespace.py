"""An enrolled namespace, who may do everything in it, and what is open to its Pods."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

from tests.api.egress.intents.people import ANN, BEN, allowlist, approval
from tests.api.kube.objects import wait_for
from tests.harness.fakes.dns_server import DnsServer
from tests.harness.programs.client import ApiStatusError, Client, Json
from tests.harness.worlds.approvals import seen

PODS: Final = "10.244.0.0/16"
SERVICES: Final = "10.0.0.0/24"
NODES: Final = "10.1.0.0/16"

PATIENCE_S: Final = 60.0
ADMINS: Final = "egress-namespace-admins"
"""RBAC lets them do everything in their namespace that it can give, but Sallyport's own verbs."""
_FLOOR: Final = frozenset({"sallyport-default-deny", "sallyport-dns"})
_MARKED_POD: Final = "10.244.250.250"
"""Of a Service that an allowlist names after an attempt: once it is open, control has looked."""
_CONSIDERS_S: Final = 3.0
_APPROVED_MARK: Final = "20.0.0.0/8"
"""The same of approvals: broad, and approved by two after an attempt with approvals."""


@dataclass
class EnrolledNamespace:
    """The namespace."""

    name: str
    admin: Client
    author: Client
    """Who may do everything in it that RBAC can give."""
    names: DnsServer
    approvals: int = 0
    """How many were made."""

    async def allow(self, *to: Json, name: str = "wide", **spec: Any) -> Json:
        """Have the author make an allowlist for the service account `trainer`."""
        return await self.author.create(allowlist(self.name, *to, name=name, **spec))

    async def approve(self, what: Json, *people: str) -> None:
        """Have people approve an object as it is now."""
        for person in people:
            self.approvals += 1
            named = f"{what['metadata']['name']}-{self.approvals}"
            await self.admin.as_user(person).create(await seen(self.admin, approval(what, named)))

    async def approve_by_two(self, what: Json) -> None:
        """Have two others approve it: its author is neither."""
        await self.approve(what, ANN, BEN)

    async def policies(self, kind: str = "networking.k8s.io/v1/networkpolicies") -> list[Json]:
        """Return the policies of a kind that stand in the namespace, whoever wrote them."""
        group, version, plural = kind.split("/")
        path = f"/apis/{group}/{version}/namespaces/{self.name}/{plural}"
        _, found = await self.admin.request("GET", path)
        items: list[Json] = found["items"]
        return items

    async def settle_floor(self) -> None:
        """Wait until the namespace is closed."""

        async def is_closed() -> bool:
            return {each["metadata"]["name"] for each in await self.policies()} >= _FLOOR

        await wait_for(is_closed, PATIENCE_S)

    async def opened(self) -> list[str]:
        """Return all that is open beyond DNS, once control has looked at what was written before.

        Each as a network (`192.0.2.0/24`), a selector of Pods, or `*` for everything.
        """
        await self.settle_floor()
        await self.serve("mark", _MARKED_POD)
        marks = {f"{_MARKED_POD}/32"}
        await self.admin.create(allowlist(self.name, {"service": {"name": "mark"}}, name="mark"))
        if self.approvals:
            wide = allowlist(self.name, {"cidr": _APPROVED_MARK}, name="approved")
            await self.approve_by_two(await self.admin.create(wide))
            marks.add(_APPROVED_MARK)

        async def are_open() -> bool:
            return marks <= _opened(await self.policies())

        await wait_for(are_open, PATIENCE_S)
        if self.approvals:  # Each one's rights are asked for by itself.
            await asyncio.sleep(_CONSIDERS_S)
        assert not await self.policies("cilium.io/v2/ciliumnetworkpolicies")
        assert {each["metadata"]["name"] for each in await self.policies()} >= _FLOOR
        return sorted(_opened(await self.policies()) - marks)

    async def settle_asked(self, name: str) -> None:
        """Wait until control has asked for a name, and has looked at the answer."""

        def is_asked() -> bool:
            return any(asked == name for asked, _, _ in self.names.questions)

        await wait_for(is_asked, PATIENCE_S)
        await asyncio.sleep(_CONSIDERS_S)

    async def settle_opened(self, wanted: str) -> None:
        """Wait until something is open."""

        async def is_open() -> bool:
            return wanted in _opened(await self.policies())

        await wait_for(is_open, PATIENCE_S)

    async def serve(self, name: str, address: str) -> None:
        """Make a Service, and a Pod behind it that runs at an address."""
        await self.running_pod(name, address, app=name)
        await self.author.create(service(self.name, name, selector={"app": name}))
        await self.author.create(endpoint_slice(self.name, f"{name}-1", name, address))

    async def running_pod(self, name: str, address: str, **labels: str) -> Json:
        """Make a Pod of the trainer that runs at an address, as a kubelet would tell it."""
        made = await self.author.create(pod_of(self.name, name, "trainer", **labels))
        kubelet = self.admin.as_user("system:node:n", ["system:nodes", "system:masters"])
        await give_address(kubelet, self.name, name, address)
        return made

    async def attempt(self, method: str, path: str, body: Json, **parameters: str) -> str:
        """Have the author ask for something; return the refusal, empty where it was done."""
        patch = "application/merge-patch+json" if method == "PATCH" else "application/json"
        status, answer = await self.author.request(
            method, path, body, parameters=parameters, content_type=patch
        )
        if status < HTTPStatus.BAD_REQUEST:
            return ""
        message = str(answer["message"])
        if status not in {HTTPStatus.FORBIDDEN, HTTPStatus.UNPROCESSABLE_ENTITY}:
            raise ApiStatusError(method, path, status, message)
        return message


def _opened(policies: list[Json]) -> set[str]:
    return {each for policy in policies for each in _opened_by(policy)}


def _opened_by(policy: Json) -> Iterator[str]:
    if policy["metadata"]["name"] in _FLOOR:
        return
    for rule in policy["spec"].get("egress") or ():
        if not rule.get("to"):
            yield "*"
        for peer in rule.get("to") or ():
            yield peer["ipBlock"]["cidr"] if "ipBlock" in peer else str(peer)


def pod_of(namespace: str, name: str, account: str, **labels: str) -> Json:
    """Return a Pod that a kubelet would start."""
    container = {"name": "main", "image": f"registry.example.org/run@sha256:{'0' * 64}"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "spec": {
            "serviceAccountName": account,
            "automountServiceAccountToken": False,
            "containers": [container],
        },
    }


def service(namespace: str, name: str, **spec: object) -> Json:
    """Return a Service of port 443."""
    ports = [{"name": "https", "port": 443}]
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"ports": ports, **spec},
    }


def endpoint_slice(namespace: str, name: str, of: str, address: str, **endpoint: object) -> Json:
    """Return an EndpointSlice that puts an address behind a Service."""
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": {"kubernetes.io/service-name": of},
        },
        "addressType": "IPv4",
        "endpoints": [{"addresses": [address], "conditions": {"ready": True}, **endpoint}],
        "ports": [{"name": "https", "port": 443, "protocol": "TCP"}],
    }


async def give_address(client: Client, namespace: str, name: str, address: str) -> None:
    """Write an address into a Pod's status.

    Raises:
        ApiStatusError: it is refused.
    """
    path = f"/api/v1/namespaces/{namespace}/pods/{name}/status"
    status = {"phase": "Running", "podIP": address, "podIPs": [{"ip": address}]}
    code, answer = await client.request(
        "PATCH", path, {"status": status}, content_type="application/merge-patch+json"
    )
    if code >= HTTPStatus.BAD_REQUEST:
        raise ApiStatusError("PATCH", path, code, str(answer["message"]))


def policy(namespace: str, name: str, *egress: Json) -> Json:
    """Return a NetworkPolicy of a person's for all Pods."""
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"podSelector": {}, "policyTypes": ["Egress"], "egress": list(egress)},
    }
