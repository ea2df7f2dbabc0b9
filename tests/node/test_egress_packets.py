"""EgressAllowlists by real packets: the controller as a process, a policy engine, a whole node."""

import asyncio
import datetime as dt
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, replace
from ipaddress import ip_address
from typing import Final

import pytest

from core.base import names
from core.base.networks import any_holds, single_address_network
from core.egress.pod_labels import egress_labels
from egress.model.reserved_ranges import ALWAYS_RESERVED
from tests.api.egress.control.field import allowlist, later
from tests.api.egress.intents.people import TIER, approval
from tests.api.people.break_glass.glass import TIER as GLASS_TIER
from tests.api.people.break_glass.glass import approve, new_name, opens, sealed
from tests.harness.evidence import record
from tests.harness.programs.client import ApiStatusError, Client, Json, connect
from tests.harness.programs.helm import Helm
from tests.harness.programs.node.node import NodeShape
from tests.harness.programs.node.outside_world import (
    ELSEWHERE,
    INTERNET,
    METADATA,
    NEIGHBOUR,
    OTHER_NODE,
)
from tests.harness.programs.node.policed_node import (
    SHAPE,
    PolicedNode,
)
from tests.harness.programs.node.scene import (
    BROAD,
    READER,
    SERVICES,
    TEAM,
    TRAINER,
    Scene,
    running_pod,
    set_scene,
    sleeper,
)
from tests.harness.programs.probing.connections import Target, held, opened, watching
from tests.harness.sizes import PROOF
from tests.harness.worlds.approvals import seen
from tests.harness.worlds.rbac import binding, user
from tests.node.egress_processes import WINDOW_S, Installed, installed

MOVER, CLOSER, EVICTEE, LATE, JOB = "mover", "closer", "evictee", "late", "job"
"""Service accounts, and a Pod of each: for a name that moves, for expiry, for a dead controller,
and for the needs of a training job."""
REGISTRY, REBOUND = "registry.example.com", "rebound.example.com"
VAULT, HUB = "vault.example.com", "hub.example.com"
APPROVERS: Final = ("ann@example.com", "ben@example.com")
DNS_SOON_S = 60.0
"""A name is asked for every second or two here; a busy machine takes longer to follow."""
SLACK_S = 40.0
LASTS_S = 8.0
"""So long an allowlist that is to expire lasts."""


@dataclass(frozen=True)
class Field:
    """A namespace whose egress is closed, and what works on it."""

    scene: Scene
    installed: Installed


@pytest.fixture(scope="module")
def notes() -> Iterator[list[str]]:
    """What was measured; a page of it in a proof."""
    found = [
        "- The chart's gate and control as processes, a real kube-apiserver, kubelet and",
        "  containerd, kube-router as the policy engine; Pods in both families",
    ]
    yield found
    if PROOF:
        record("egress-packets", found)


@pytest.fixture(scope="module")
def policed_shape() -> NodeShape:
    """Its kube-apiserver asks the gate by its Service."""
    return replace(SHAPE, by_service=True)


@pytest.fixture(scope="module")
def field(
    policed: PolicedNode, tmp_path_factory: pytest.TempPathFactory, helm: Helm
) -> Iterator[Field]:
    """The chart, gate and controller at work, and then the Pods, without labels of the gate's."""
    team = [
        sleeper(TEAM, each, {"app": each}, serviceAccountName=each)
        for each in (TRAINER, READER, MOVER, CLOSER, EVICTEE, LATE, JOB)
    ]
    with installed(policed, tmp_path_factory.mktemp("installed"), helm) as found:
        found.names.set(REGISTRY, *INTERNET, ttl=1)
        found.names.set(REBOUND, *NEIGHBOUR, *METADATA, ttl=1)
        found.names.set(VAULT, OTHER_NODE[0], ttl=1)
        found.names.set(HUB, *INTERNET, ttl=1)
        scene = asyncio.run(set_scene(policed, team, {names.EGRESS_LABEL: "deny"}))
        yield Field(scene, found)


@pytest.fixture
async def admin(policed: PolicedNode) -> AsyncIterator[Client]:
    """A cluster administrator."""
    async with connect(policed.node.apiserver) as client:
        yield client


def _ports(*written: str) -> list[Json]:
    """Read `TCP 443` and `TCP 8000-8010`."""
    found: list[Json] = []
    for each in written:
        protocol, ports = each.split()
        first, _, last = ports.partition("-")
        found.append({"protocol": protocol, "port": int(first)})
        if last:
            found[-1]["endPort"] = int(last)
    return found


TO: list[Json] = [
    {"cidr": f"{INTERNET[0]}/32", "ports": _ports("TCP 443", "SCTP 443")},
    {"cidr": f"{INTERNET[1]}/128", "ports": _ports("TCP 443", "SCTP 443")},
    {"cidr": f"{ELSEWHERE[0]}/32", "ports": _ports("TCP 8000-8010", "UDP 5000")},
    {"cidr": f"{ELSEWHERE[1]}/128", "ports": _ports("TCP 8000-8010", "UDP 5000")},
    {"cidr": BROAD, "ports": _ports("TCP 80")},
    {"service": {"namespace": SERVICES, "name": "api"}, "ports": _ports("TCP 80")},
    {
        "pods": {"namespace": SERVICES, "podSelector": {"matchLabels": {"app": "other"}}},
        "ports": _ports("TCP 9090"),
    },
    {"dnsName": REBOUND, "ports": _ports("TCP 443")},
]
"""The trainer's destinations."""


def _dns(scene: Scene) -> set[Target]:
    return scene.named("dns", "TCP 53", "UDP 53")


def _named(scene: Scene) -> set[Target]:
    """Return what `TO` means."""
    return (
        scene.named("the internet", "TCP 443", "SCTP 443")
        | scene.named("elsewhere", "TCP 8000", "TCP 8005", "TCP 8010", "UDP 5000")
        | scene.named("a broad network", "TCP 80")
        | scene.named("api", "TCP 8080")
        | scene.named("other", "TCP 9090")
        | scene.named("its neighbour", "TCP 443")
    )


def _https(scene: Scene, *addresses: str) -> list[Target]:
    return [scene.at(each, "TCP 443") for each in addresses]


async def _allow(admin: Client, account: str, *to: Json, **spec: object) -> None:
    item = allowlist(TEAM, account, *to, serviceAccounts=[account], **spec)
    await admin.create(item)


@pytest.fixture(scope="module")
def moved(field: Field, notes: list[str]) -> float:
    """Let a name move to other addresses, and return when it did (monotonic s)."""

    async def allow() -> None:
        async with connect(field.scene.policed.node.apiserver) as client:
            await _allow(client, MOVER, {"dnsName": REGISTRY})

    scene = field.scene
    asyncio.run(allow())
    scene.wait_until_open(MOVER, _https(scene, *INTERNET))
    assert not opened(scene.probe(MOVER, _https(scene, *ELSEWHERE)))
    field.installed.names.set(REGISTRY, *ELSEWHERE, ttl=1)
    return time.monotonic()


@pytest.mark.proof
def test_a_name_that_moves_opens_where_it_is_now(
    field: Field, moved: float, notes: list[str]
) -> None:
    """Within seconds; its old addresses stay open, for caches keep them."""
    scene = field.scene
    scene.wait_until_open(MOVER, _https(scene, *ELSEWHERE))
    took = time.monotonic() - moved
    assert took < DNS_SOON_S
    both = {*_https(scene, *INTERNET, *ELSEWHERE)}
    assert opened(scene.probe(MOVER)) == _dns(scene) | both
    notes.append(f"- A name moves: its new addresses are open {took:.1f} s later (asked each 1 s)")


@pytest.mark.proof
async def test_what_the_allowlist_names_is_open_and_nothing_else(
    field: Field, admin: Client, notes: list[str]
) -> None:
    """Before it DNS alone; then just what it names, for its service account, in both families."""
    scene = field.scene
    assert opened(scene.probe("control")) == set(scene.targets)
    scene.settle(TRAINER, _dns(scene))
    ports = [{"name": "http", "port": 80, "targetPort": 8080}]
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "api", "namespace": SERVICES},
        "spec": {"selector": {"app": "api"}, "ports": ports, "ipFamilyPolicy": "PreferDualStack"},
    }
    await admin.create(service)
    await _allow(admin, TRAINER, *TO)
    took = scene.wait_until_open(TRAINER, _named(scene))
    found = scene.probe(TRAINER)
    assert opened(found) == _dns(scene) | _named(scene), found
    assert opened(scene.probe(READER)) == _dns(scene)
    closed = len(scene.targets) - len(_dns(scene) | _named(scene))
    notes.append(f"- {len(scene.targets)} ends, of both families, that a free Pod reaches")
    notes.append(f"- Before its allowlist a Pod reaches {len(_dns(scene))} of them (DNS)")
    notes.append(f"- With it all {len(_named(scene))} more that it names, {took:.1f} s later")
    notes.append(f"- The other {closed} stay closed")


@pytest.mark.proof
async def test_the_needs_of_a_training_job_are_open(
    field: Field, admin: Client, notes: list[str]
) -> None:
    """Rows of docs/operate/egress-aks.md, as NetworkPolicy says them; a wildcard stays closed."""
    scene = field.scene
    apiserver = _first(scene.named("kube-apiserver"))
    await admin.apply(_told_by_kube_apiserver(apiserver))
    headless = {"clusterIP": "None", "ipFamilyPolicy": "PreferDualStack"}
    spec = {**headless, "selector": {"app": "neighbour"}}
    await admin.create({**_service("gang", TEAM), "spec": spec})
    https = _ports("TCP 443")
    made = await admin.create(
        allowlist(
            TEAM,
            JOB,
            {"service": {"namespace": "default", "name": "kubernetes"}, "ports": https},
            {"dnsName": VAULT, "within": [f"{OTHER_NODE[0]}/32"], "ports": _ports("TCP 10250")},
            {"service": {"name": "gang"}, "ports": _ports("TCP 1024-65535")},
            {"dnsName": HUB, "ports": https},
            {"dnsName": "*.example.com", "ports": _ports("TCP 8443")},
            serviceAccounts=[JOB],
        )
    )
    await admin.apply([binding("sallyport-approve-egress", *map(user, APPROVERS), name="approve")])
    for name in APPROVERS:
        await admin.as_user(name).wait_until_can("approve", TIER)
        await admin.as_user(name).create(await seen(admin, approval(made, name.partition("@")[0])))
    named = scene.named("the internet", "TCP 443")
    private = scene.at(OTHER_NODE[0], "TCP 10250")
    gang = scene.named("neighbour", "TCP 8080", "TCP 9090")
    wanted = {apiserver, private} | gang | named
    scene.wait_until_open(JOB, wanted)
    found = opened(scene.probe(JOB))
    assert found == _dns(scene) | wanted
    status = (await admin.get("sallyport.dev/v1alpha1", "EgressAllowlist", JOB, TEAM))["status"]
    ready = next(each for each in status["conditions"] if each["type"] == "Ready")
    assert "spec.to[4].dnsName" in ready["message"]
    notes.append(
        "- The needs of a training job: kube-apiserver, a private endpoint by name, a gang by its "
        "headless Service, a name: open; the wildcard stays closed, and the allowlist says so"
    )


def _service(name: str, namespace: str) -> Json:
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata}


def _told_by_kube_apiserver(at: Target) -> Iterator[Json]:
    """Yield its Service and slice, which those of tests do not write themselves."""
    ports = [{"name": "https", "port": 443, "targetPort": at.port}]
    yield {**_service("kubernetes", "default"), "spec": {"ports": ports}}
    yield {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "name": "kubernetes",
            "namespace": "default",
            "labels": {"kubernetes.io/service-name": "kubernetes"},
        },
        "addressType": "IPv4",
        "endpoints": [{"addresses": [at.address], "conditions": {"ready": True}}],
        "ports": [{"name": "https", "port": at.port, "protocol": "TCP"}],
    }


def _first(targets: set[Target]) -> Target:
    return min(each for each in targets if "." in each.address)


async def test_the_labels_that_open_are_the_gates_alone(field: Field, admin: Client) -> None:
    """A Pod whose author wrote another account's gets its own; on one that runs they stay."""
    scene = field.scene
    forged = egress_labels(TRAINER, None)
    forger = sleeper(TEAM, "forger", forged, serviceAccountName=READER)
    made = await admin.create(forger)
    assert made["metadata"]["labels"] == egress_labels(READER, None)
    with pytest.raises(ApiStatusError, match="the gate's own label"):
        await admin.patch(scene.pods[READER], {"metadata": {"labels": forged}})
    scene.add(await running_pod(admin, forger))
    scene.settle("forger", _dns(scene))


async def test_a_break_glass_opens_all_but_what_is_reserved_until_it_is_deleted(
    field: Field, admin: Client, notes: list[str]
) -> None:
    """Of a Pod that runs already and has no allowlist; metadata stays closed, in both families."""
    scene, name = field.scene, new_name()
    glass = sealed(TEAM, name, egress={})
    await admin.create(glass)
    role = "sallyport-approve-break-glass"
    await admin.apply([binding(role, *map(user, APPROVERS), name="glass")])
    for each in APPROVERS:
        await admin.as_user(each).wait_until_can("approve", GLASS_TIER)
    await approve(admin, name, *APPROVERS)
    assert opened(scene.probe(READER)) == _dns(scene)
    await opens(admin, name)
    wanted = {each for each in scene.targets if not _is_reserved(each)}
    assert _is_reserved(scene.at(METADATA[0], "TCP 443"))
    took = scene.wait_until_open(READER, wanted)
    assert opened(scene.probe(READER)) == wanted
    await admin.delete(glass)
    again = max(scene.wait_until_closed(READER, each) for each in _https(scene, *INTERNET))
    scene.settle(READER, _dns(scene))
    notes.append(
        f"- A BreakGlass for egress: a Pod without an allowlist reaches {len(wanted)} ends of "
        f"{len(scene.targets)} after {took:.1f} s, and none of metadata; {again:.1f} s after it is "
        "deleted DNS alone"
    )


def _is_reserved(target: Target) -> bool:
    return any_holds(ALWAYS_RESERVED, single_address_network(ip_address(target.address)))


@pytest.mark.proof
async def test_expiry_closes_and_evicts_where_asked(
    field: Field, admin: Client, notes: list[str]
) -> None:
    """New connections end with it; those that are open end with the Pod, which may be evicted."""
    scene, node = field.scene, field.scene.policed.node
    (target,) = _https(scene, INTERNET[0])
    until = later(LASTS_S)
    expires = dt.datetime.fromisoformat(until).timestamp()
    to: Json = {"cidr": f"{INTERNET[0]}/32"}
    await _allow(admin, CLOSER, to, expiresAt=until)
    await _allow(admin, EVICTEE, to, expiresAt=until, whenExpired="Evict")
    for each in (CLOSER, EVICTEE):
        scene.wait_until_open(each, [target])
    with (
        held(node, scene.pods[CLOSER], target) as kept,
        held(node, scene.pods[EVICTEE], target) as cut,
    ):
        assert time.time() < expires - 1
        assert kept.lives()
        scene.wait_until_closed(CLOSER, target)
        late = time.time() - expires
        assert 0 <= late < SLACK_S
        assert kept.lives()
        while cut.lives():
            assert time.time() < expires + SLACK_S
        evicted = time.time() - expires
    assert opened(scene.probe(CLOSER)) == _dns(scene)
    notes.append(f"- An allowlist expires: closed to new connections {late:.1f} s later")
    notes.append("- A connection that was open then lives on (kube-router lets it)")
    notes.append(f"- With `whenExpired: Evict` the Pod is evicted: dead {evicted:.1f} s later")


@pytest.mark.proof
def test_where_a_name_was_closes_after_the_window(
    field: Field, moved: float, notes: list[str]
) -> None:
    """Once it has not been seen there for as long as is set."""
    scene = field.scene
    for each in _https(scene, *INTERNET):
        scene.wait_until_closed(MOVER, each)
    took = time.monotonic() - moved
    assert WINDOW_S - 5 < took < WINDOW_S + SLACK_S
    assert opened(scene.probe(MOVER)) == _dns(scene) | {*_https(scene, *ELSEWHERE)}
    notes.append(
        f"- Its old addresses are closed {took:.1f} s after it moved, with {WINDOW_S} s set"
    )


@pytest.mark.proof
async def test_a_dead_controller_opens_and_closes_nothing(
    field: Field, admin: Client, notes: list[str]
) -> None:
    """Killed and started again: what was open stays so, all the time, and nothing else opens."""
    scene, node = field.scene, field.scene.policed
    expected = _dns(scene) | _named(scene)
    # But those whose refusal nobody is told of: a round would take as long as they are waited for.
    prompt = sorted(each for each in scene.targets if each in expected or each.protocol != "SCTP")
    with watching(node.node, scene.pods[TRAINER], prompt) as seen:
        field.installed.kill("control")
        await _allow(admin, LATE, {"cidr": f"{INTERNET[0]}/32"})
        await asyncio.sleep(3)
        assert opened(scene.probe(LATE)) == _dns(scene)
        leads = await field.installed.start_control(node)
        scene.wait_until_open(LATE, _https(scene, INTERNET[0]))
        await asyncio.sleep(1)
    states = seen.opened()
    assert states
    assert all(each == expected for each in states)
    assert opened(scene.probe(LATE)) == _dns(scene) | {*_https(scene, INTERNET[0])}
    notes.append(f"- The controller killed (SIGKILL) and started again: leads after {leads:.1f} s")
    notes.append(f"- Meanwhile {len(states)} looks at {len(prompt)} ends: nothing opened or closed")
