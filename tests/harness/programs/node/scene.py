"""Pods on a policed node, and everything that one of them may try to reach, in both families."""

import asyncio
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Final

from core.egress.pod_labels import egress_labels
from tests.harness.programs.client import ApiStatusError, Client, Json, connect
from tests.harness.programs.node import outside_world
from tests.harness.programs.node.images import BUSYBOX
from tests.harness.programs.node.outside_world import (
    ELSEWHERE,
    INTERNET,
    METADATA,
    NEAR_WIRE_SERVER,
    NEIGHBOUR,
    OTHER_NODE,
    WIRE_SERVER,
)
from tests.harness.programs.node.policed_node import GATEWAYS, OWN, PolicedNode
from tests.harness.programs.probing.connections import Target, opened, probe, serve_in, serve_on

TEAM: Final = "team"
"""The namespace whose Pods are policed; the others' are not."""
SERVICES, FREE, SYSTEM = "services", "free", "kube-system"
TRAINER, READER = "trainer", "reader"
"""Service accounts of the team."""
DNS_LABELS: Final = {"k8s-app": "kube-dns"}

BROAD: Final = "168.63.129.0/24"
"""A network with Azure's wire server and `outside_world.NEAR_WIRE_SERVER` in it."""
NODE_PORT: Final = 30080

_TIMEOUT_S: Final = 60.0
_POLL_S: Final = 0.1
_SERVERS: Final = ((SERVICES, "api"), (SERVICES, "other"), (TEAM, "neighbour"), (SYSTEM, "dns"))
_SERVED: Final = (("TCP", 8080), ("UDP", 8080), ("TCP", 9090))
_DNS_SERVED: Final = (("TCP", 53), ("UDP", 53), ("TCP", 9153))


def outside_places() -> list[str]:
    """Return the places at which the world outside answers."""
    return [f"{each.protocol},{each.address},{each.port}" for each in _outside()]


def _outside() -> Iterator[Target]:
    """Yield what is to be tried there."""

    def each(what: str, addresses: Iterable[str], *ports: str) -> Iterator[Target]:
        for address, port in product(addresses, ports):
            protocol, number = port.split()
            yield Target(what, address, int(number), protocol, outside_world.NAME)

    yield from each("the internet", INTERNET, "TCP 443", "UDP 443", "SCTP 443", "TCP 8443")
    yield from each("its neighbour", NEIGHBOUR, "TCP 443", "UDP 443")
    others = ("TCP 443", "TCP 8000", "TCP 8005", "TCP 8010", "TCP 8011", "TCP 7999")
    yield from each("elsewhere", ELSEWHERE, *others, "UDP 5000", "SCTP 3868", "SCTP 3869")
    yield from each("a resolver outside", ELSEWHERE, "UDP 53", "TCP 53")
    yield from each("a broad network", (NEAR_WIRE_SERVER,), "TCP 80", "TCP 32526")
    yield from each("the wire server", (WIRE_SERVER,), "TCP 80", "TCP 32526")
    clouds = (*METADATA, outside_world.OTHER_METADATA)
    yield from each("metadata", clouds, "TCP 80", "TCP 443", "UDP 53")
    yield from each("another node's kubelet", OTHER_NODE, "TCP 10250")


class Scene:
    """The Pods, by name, and what there is to reach. Made by `set_scene`."""

    def __init__(self, policed: PolicedNode, pods: Mapping[str, Json]) -> None:
        """Have the Pods that are servers answer."""
        self.policed, self.pods = policed, dict(pods)
        self.targets = (*_outside(), *self._inside(), *self._node())
        for name in {each.server for each in self.targets} & pods.keys():
            mine = [each for each in self.targets if each.server == name]
            places = [f"{each.protocol},{each.address},{each.port}" for each in mine]
            serve_in(policed.node, pods[name], name, places)
        serve_on(policed.node, "node", [f"TCP,{each},{NODE_PORT}" for each in OWN])

    def probe(self, pod: str, targets: Sequence[Target] = ()) -> dict[Target, str]:
        """Try the targets, all without any, from a Pod."""
        return probe(self.policed.node, self.pods[pod], targets or self.targets)

    def named(self, what: str, *ports: str) -> set[Target]:
        """Return the targets with these words, those with such ports (`TCP 443`) alone."""
        found = {each for each in self.targets if each.what == what}
        wanted = {each for each in found if f"{each.protocol} {each.port}" in ports or not ports}
        assert wanted, f"{what}: no such target"
        return wanted

    def at(self, address: str, port: str) -> Target:
        """Return the target at this address and port (`TCP 443`)."""
        protocol, number = port.split()
        wanted = (address, int(number), protocol)
        (found,) = [e for e in self.targets if (e.address, e.port, e.protocol) == wanted]
        return found

    def add(self, pod: Json) -> None:
        """Take in a Pod that runs, once the engine knows it."""
        self.policed.wait_until_known([pod])
        self.pods[pod["metadata"]["name"]] = pod

    def wait_until_closed(self, pod: str, target: Target) -> float:
        """Return the seconds until a Pod can no longer reach this."""
        began = time.monotonic()
        while opened(self.probe(pod, [target])):
            assert time.monotonic() - began < _TIMEOUT_S, f"{target} is still open"
        return time.monotonic() - began

    def wait_until_open(self, pod: str, targets: Iterable[Target]) -> float:
        """Return the seconds until a Pod can reach all of these."""
        began, wanted = time.monotonic(), sorted(targets)
        while shut := set(wanted) - opened(self.probe(pod, wanted)):
            took = time.monotonic() - began
            assert took < _TIMEOUT_S, f"still closed: {', '.join(map(str, sorted(shut)))}"
        return time.monotonic() - began

    def settle(self, pod: str, expected: set[Target]) -> None:
        """Return once a Pod reaches exactly these of all; fail if it does not come to that."""
        began = time.monotonic()
        while (found := opened(self.probe(pod))) != expected:
            if time.monotonic() - began > _TIMEOUT_S:
                missing, more = sorted(expected - found), sorted(found - expected)
                raise AssertionError(f"{pod} reaches {more} besides, and not {missing}")

    def _inside(self) -> Iterator[Target]:
        """Yield the ports of the Pods that are servers."""
        for _, name in _SERVERS:
            served = _DNS_SERVED if name == "dns" else _SERVED
            for address, (protocol, port) in product(addresses_of(self.pods[name]), served):
                yield Target(name, address, port, protocol, name)

    def _node(self) -> Iterator[Target]:
        """Yield the kubelet and kube-apiserver, on each of the node's addresses."""
        for address in (*OWN, *GATEWAYS):
            yield Target("the kubelet", address, 10250)
            yield Target("kube-apiserver", address, self.policed.node.apiserver.port)


def addresses_of(pod: Json) -> list[str]:
    """Return a Pod's addresses, that of IPv4 first."""
    return [each["ip"] for each in pod["status"]["podIPs"]]


def sleeper(namespace: str, name: str, labels: Mapping[str, str], **fields: object) -> Json:
    """Return a Pod that does nothing, and asks for nothing of the node."""
    container = {"name": "main", "image": BUSYBOX, "imagePullPolicy": "Never"}
    spec = {
        "terminationGracePeriodSeconds": 0,
        "automountServiceAccountToken": False,
        "containers": [{**container, "command": ["sleep", "100000"]}],
        **fields,
    }
    metadata = {"name": name, "namespace": namespace, "labels": dict(labels)}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


async def set_scene(
    policed: PolicedNode, team: Sequence[Json], labels_of_team: Mapping[str, str] | None = None
) -> Scene:
    """Create the namespaces, the servers, a Pod that nothing polices, and the team's Pods."""
    async with connect(policed.node.apiserver) as client:
        for namespace in (SERVICES, FREE):
            await client.create_namespace(namespace)
        await client.create_namespace(TEAM, labels_of_team)
        await client.create_service_account("default", SYSTEM)
        for name in {each["spec"]["serviceAccountName"] for each in team}:
            await client.create_service_account(name, TEAM)
        labels = {"dns": DNS_LABELS}
        wanted = [
            sleeper(namespace, name, labels.get(name, {"app": name}))
            for namespace, name in _SERVERS
        ]
        wanted += [sleeper(FREE, "control", {"app": "control"}), *team]
        for item in wanted:
            await _create(client, item)
        running = [await running_pod(client, each) for each in wanted]
    policed.wait_until_known(running)
    return Scene(policed, {each["metadata"]["name"]: each for each in running})


def team_pods() -> list[Json]:
    """Return the team's Pods with the labels that the gate would set, and one with an author's."""
    written = {"app": TRAINER, "service-account": TRAINER, "serviceaccount": TRAINER}
    return [
        sleeper(TEAM, TRAINER, egress_labels(TRAINER, None), serviceAccountName=TRAINER),
        sleeper(TEAM, READER, egress_labels(READER, None), serviceAccountName=READER),
        sleeper(TEAM, "forger", written, serviceAccountName=READER),
    ]


async def _create(client: Client, pod: Json) -> None:
    """Create a Pod, again where the gate says so: its namespace is about to be closed."""
    deadline = time.monotonic() + _TIMEOUT_S
    while True:
        try:
            await client.create(pod)
        except ApiStatusError as error:
            if "not closed yet" not in error.message or time.monotonic() > deadline:
                raise
            await asyncio.sleep(_POLL_S)
        else:
            return


async def running_pod(client: Client, pod: Json) -> Json:
    """Wait until a Pod runs, with its addresses, and return it."""
    deadline = time.monotonic() + _TIMEOUT_S
    metadata = pod["metadata"]
    while True:
        found = await client.get("v1", "Pod", metadata["name"], metadata["namespace"])
        if found["status"]["phase"] == "Running" and found["status"].get("podIPs"):
            return found
        assert time.monotonic() < deadline, found["status"]
        await asyncio.sleep(_POLL_S)
