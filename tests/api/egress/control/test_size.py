"""The controller at full size: how long it takes, what it costs, and that it stays quiet."""

import asyncio
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.api.egress.control.field import FAR, FLOOR, OWN, Field, allowlist
from tests.api.kube.objects import wait_for
from tests.harness.evidence import record
from tests.harness.fakes.dns_server import DnsServer, dns_server
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.client import Client, Json
from tests.harness.programs.egress_control import Sample, samples, settings_of, start_control
from tests.harness.programs.process import ServerProcess
from tests.harness.sizes import PROOF, size

NAMESPACES: Final = size(30, 2000)
EACH: Final = 5
AT_ONCE: Final = 16
NAMES: Final = size(20, 500)
SETS: Final = 20
CHANGES: Final = size(3, 40)
IDLE_S: Final = size(3, 120)
LONG_S: Final = size(60, 1200)

MIB: Final = 2**20


def intents(number: int) -> Iterator[Json]:
    """Yield the allowlists of a namespace: networks, a name, a set, Pods of another namespace."""
    place = f"size-{number:04d}"
    yield allowlist(
        place, "networks", *({"cidr": f"192.0.2.{each}/32"} for each in range(0, 20, 2))
    )
    yield allowlist(place, "name", {"dnsName": f"host-{number % NAMES}.example.com"})
    yield allowlist(place, "shared", {"destinations": {"name": f"size-{number % SETS}"}})
    pods = {"namespace": f"size-{(number + 1) % NAMESPACES:04d}", "serviceAccounts": ["server"]}
    yield allowlist(place, "pods", {"pods": pods}, serviceAccounts=["trainer"])
    entry = {"cidr": f"198.51.{number % 100}.0/24"}
    yield allowlist(place, "narrow", entry, podSelector={"matchLabels": {"app": "a"}})


async def fill(client: Client) -> None:
    """Make sets, rights, namespaces and allowlists."""
    ports = [{"protocol": "TCP", "port": 443}]
    for number in range(SETS):
        spec = {
            "to": [{"cidr": f"203.0.113.{number}/32", "ports": ports}],
            "owner": "platform",
            "reason": "a test",
            "expiresAt": FAR,
        }
        item = {"apiVersion": "sallyport.dev/v1alpha1", "kind": "EgressDestinations"}
        await client.create({**item, "metadata": {"name": f"size-{number}"}, "spec": spec})
    group = "rbac.authorization.k8s.io"
    name = {"name": "size-use"}
    rule = {"apiGroups": ["sallyport.dev"], "resources": ["egressdestinations"], "verbs": ["use"]}
    everyone = {"apiGroup": group, "kind": "Group", "name": "system:serviceaccounts"}
    role = {"apiVersion": f"{group}/v1", "kind": "ClusterRole", "metadata": name, "rules": [rule]}
    binding = {
        "apiVersion": f"{group}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": name,
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", **name},
        "subjects": [everyone],
    }
    await client.apply([role, binding])
    for start in range(0, NAMESPACES, AT_ONCE):
        some = range(start, min(start + AT_ONCE, NAMESPACES))
        await asyncio.gather(*(fill_one(client, each) for each in some))


async def fill_one(client: Client, number: int) -> None:
    """Make a namespace with its allowlists."""
    await Field(client, f"size-{number:04d}").prepare()
    for each in intents(number):
        await client.create(each)


@pytest.fixture
def dns() -> Iterator[DnsServer]:
    """A name server that knows all names."""
    with dns_server() as server:
        for number in range(NAMES):
            server.set(f"host-{number}.example.com", f"203.0.113.{number % 250}")
        yield server


async def last(process: ServerProcess, quiet_s: float) -> Sample:
    """Wait until a controller has looked at everything, and nothing is due for a while; say how."""
    since = time.monotonic()
    before = Sample(0, 0, 0, 0, 0, 0, 0)
    began = time.monotonic()
    while time.monotonic() - since < quiet_s:
        assert process.alive, process.log.read_text()[-2000:]
        assert time.monotonic() - began < LONG_S
        await asyncio.sleep(0.1)
        found = samples(process.log)
        if (
            not found
            or found[-1].waiting
            or not found[-1].resync
            or found[-1].writes != before.writes
        ):
            since = time.monotonic()
        if found:
            before = found[-1]
    return before


async def test_at_full_size_it_keeps_up(
    apiserver: ApiServer, client: Client, dns: DnsServer, tmp_path: Path
) -> None:
    """All is written once, and nothing after a restart; a single change is applied at once."""
    await fill(client)
    resolver = {"servers": [f"127.0.0.1:{dns.port}"]}
    settings = settings_of(apiserver.kubeconfig(), OWN, {"resolver": resolver})
    first = start_control(settings, tmp_path / "first.log")
    try:
        began = time.time()
        made = await last(first, 3.0)
    finally:
        first.stop()
    wanted = NAMESPACES * (EACH + len(FLOOR))
    assert made.writes >= wanted
    writing = next(each for each in samples(first.log) if each.writes == made.writes)
    second = start_control(settings, tmp_path / "second.log")
    try:
        synced = await last(second, 3.0)
        assert synced.writes == 0
        whole = next(each for each in samples(second.log) if each.resync)
        waits = [await change(client, number) for number in range(CHANGES)]
        idle = await last(second, 1.0)
        await asyncio.sleep(IDLE_S)
        after = samples(second.log)[-1]
        assert after.writes == idle.writes
    finally:
        second.stop()
    if PROOF:
        _record(began, (made, writing), (whole, idle, after), waits)


async def change(client: Client, number: int) -> float:
    """Make an allowlist, and give the seconds until its policy is there."""
    place = Field(client, f"size-{number * 7 % NAMESPACES:04d}")
    name = f"change-{number}"
    await place.allow(name, {"cidr": f"192.0.2.{number}/32"})
    began = time.monotonic()
    policy = f"/apis/networking.k8s.io/v1/namespaces/{place.name}/networkpolicies/"
    policy += f"sallyport-allow-{name}-0"

    async def is_there() -> bool:
        status, _ = await client.request("GET", policy)
        return status == 200

    await wait_for(is_there, 60)
    return time.monotonic() - began


def _record(
    began: float,
    made: tuple[Sample, Sample],
    steady: tuple[Sample, Sample, Sample],
    waits: list[float],
) -> None:
    (done, writing), (whole, idle, after) = made, steady
    idle_cpu = (after.cpu - idle.cpu) / (after.at - idle.at)
    record(
        "egress-scale",
        [
            f"- {NAMESPACES:,} enrolled namespaces, {NAMESPACES * EACH:,} allowlists: networks, "
            f"{NAMES} DNS names, {SETS} shared sets, Pods; kube-apiserver and etcd on the same "
            "cores",
            "",
            "| What | Took |",
            "| --- | --- |",
            f"| the first time, {done.writes:,.0f} policies, with finalizers and statuses | "
            f"{writing.at - began:.0f} s, {writing.cpu:.0f} s of a core |",
            f"| a restart with all in place, nothing written: the look at all of it | "
            f"{whole.resync:.1f} s |",
            f"| … with the start of the process and all lists | {whole.cpu:.1f} s of a core |",
            f"| a single change, from its answer to the policy (of {len(waits)}) | median "
            f"{statistics.median(waits):.2f} s, slowest {max(waits):.2f} s |",
            f"| nothing happens, for {after.at - idle.at:.0f} s | {100 * idle_cpu:.1f} % of a "
            "core, nothing written |",
            f"| memory after the restart, and {after.at - idle.at:.0f} s later | "
            f"{idle.rss / MIB:.0f} MiB, {after.rss / MIB:.0f} MiB |",
        ],
    )
