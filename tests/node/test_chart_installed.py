"""The charts and the image on a real node: installed, judged by, upgraded, rolled back, removed.

One installation; the tests are its life, in their order.
"""

import argparse
import asyncio
import os
import shlex
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from statistics import median
from typing import Final

import aiohttp
import pytest

from core.base import names
from deploy.image.archive import Written
from tests.api.egress.control.field import allowlist
from tests.harness.evidence import ROOT, record
from tests.harness.programs.availability import skip_or_fail
from tests.harness.programs.client import ApiStatusError, Client, Json, connect
from tests.harness.programs.gate import Gate
from tests.harness.programs.helm import NAMESPACE, Helm
from tests.harness.programs.node.installed_chart import (
    LEDGER,
    Chart,
    all_objects,
    created,
    evidence,
    judged,
    metric,
    pods_of,
    prepare,
    provide_image,
    settled,
)
from tests.harness.programs.node.outside_world import ELSEWHERE, INTERNET, NAME
from tests.harness.programs.node.policed_node import PolicedNode
from tests.harness.programs.node.scene import outside_places, running_pod
from tests.harness.programs.node.served_node import run_on, running_served_node
from tests.harness.programs.probing.connections import Target, opened, probe
from tests.harness.sizes import PROOF, size
from tests.harness.worlds.rbac import grant, rule, user
from tests.node.pods import pod, run
from tests.tools.provide import CannotProvideError

REMOVAL_TIMEOUT_S: Final = 120.0


@dataclass
class Asked:
    """What kube-apiserver answered meanwhile."""

    answers: list[tuple[int, str]] = field(default_factory=list)

    @property
    def wrong(self) -> list[tuple[int, str]]:
        """Whatever was neither admitted nor refused as it should be."""
        return [each for each in self.answers if each[0] != HTTPStatus.CREATED]


async def keep_asking(client: Client, namespace: str, asked: Asked, end: asyncio.Event) -> None:
    """Create a Pod again and again, as a dry run, which is judged like any other."""
    path = f"/api/v1/namespaces/{namespace}/pods"
    number = 0
    while not end.is_set():
        number += 1
        body = pod(namespace, f"asked-{number}")
        status, answer = await client.request("POST", path, body, parameters={"dryRun": "All"})
        asked.answers.append((status, str(answer.get("message", ""))))
        await asyncio.sleep(0.02)


async def left(client: Client, before: set[str]) -> set[str]:
    """Return what is more than before, without leases of Kubernetes' own."""
    found = await all_objects(client) - before
    return {each for each in found if not each.startswith("Lease kube-system/")}


async def start_of_a_pod(policed: PolicedNode, client: Client) -> float:
    """Delete a gate's Pod; give the seconds from the start of the next one's process to ready."""
    before = {each["metadata"]["uid"] for each in await pods_of(client, "gate")}
    first, *_ = await pods_of(client, "gate")
    # With its own grace period: one that is killed leaves kube-apiserver connections to nobody.
    where = f"{first['metadata']['namespace']}/pods/{first['metadata']['name']}"
    await client.request("DELETE", f"/api/v1/namespaces/{where}")
    deadline = time.monotonic() + REMOVAL_TIMEOUT_S
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(1)) as session:
        while time.monotonic() < deadline:
            for each in await pods_of(client, "gate"):
                address = each["status"].get("podIP")
                if each["metadata"]["uid"] in before or not address:
                    continue
                if await _ready(session, f"http://{address}:9080/readyz"):
                    now = time.clock_gettime(time.CLOCK_BOOTTIME)
                    return now - _began(policed, each)
            await asyncio.sleep(0.02)
    raise AssertionError("no new gate became ready")


def start_of_the_checkout(policed: PolicedNode, folder: Path) -> float:
    """Return the seconds until a gate that runs from the checkout is ready."""
    apiserver = policed.node.apiserver
    began = time.monotonic()
    gate = Gate(folder, apiserver.authority, apiserver.kubeconfig())
    took = time.monotonic() - began
    gate.stop()
    return took


async def _ready(session: aiohttp.ClientSession, url: str) -> bool:
    try:
        async with session.get(url) as response:
            return response.status == HTTPStatus.OK
    except (OSError, TimeoutError, aiohttp.ClientError):
        return False


def _began(policed: PolicedNode, pod: Json) -> float:
    """Return when a Pod's process began, in seconds since the machine did (proc_pid_stat(5))."""
    container = policed.node.process_of(pod)
    fields = run_on(policed, "cat", f"/proc/{container}/stat").rpartition(")")[2].split()
    return int(fields[19]) / os.sysconf("SC_CLK_TCK")


PAGE: Final = ROOT / "docs" / "operate" / "chart.md"
_TIMEOUT_S: Final = 120.0


def written_commands() -> list[list[str]]:
    """Return the words of each command, in their order."""
    section = PAGE.read_text().partition("\n## Remove\n")[2].partition("\n## ")[0]
    lines = section.replace("\\\n", " ").splitlines()
    found = (shlex.split(each, comments=True) for each in lines if each.startswith("    "))
    return [words for words in found if words]


async def kubectl_delete(client: Client, *words: str) -> list[str]:
    """Do what `kubectl delete` does: delete, and wait for the end of each; give their paths."""
    parser = argparse.ArgumentParser(exit_on_error=False)
    parser.add_argument("resource")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--selector")
    parser.add_argument("--all-namespaces", action="store_true")
    asked = parser.parse_args(words)
    collection = await _collection(client, asked.resource)
    paths = [f"{collection}/{each}" for each in asked.names]
    if asked.selector:
        assert asked.all_namespaces, "in which namespaces?"
        paths = await _selected(client, collection, asked.selector)
    for path in paths:
        status, answer = await client.request("DELETE", path)
        assert status in {HTTPStatus.OK, HTTPStatus.ACCEPTED}, answer
    for path in paths:
        await gone(client, path)
    return paths


async def gone(client: Client, path: str) -> None:
    """Return once there is nothing at a path any more."""
    deadline = time.monotonic() + _TIMEOUT_S
    while (found := await client.request("GET", path))[0] != HTTPStatus.NOT_FOUND:
        assert time.monotonic() < deadline, f"{path} is still there: {found[1].get('status')}"
        await asyncio.sleep(0.2)


async def _selected(client: Client, collection: str, selector: str) -> list[str]:
    """Return the paths of a resource's objects that a selector takes."""
    parameters = {"labelSelector": selector}
    _, found = await client.request("GET", collection, parameters=parameters)
    root, _, resource = collection.rpartition("/")
    marks = [each["metadata"] for each in found["items"]]
    return [f"{root}/namespaces/{each['namespace']}/{resource}/{each['name']}" for each in marks]


async def _collection(client: Client, resource: str) -> str:
    """Return the path of all objects of a resource, named as kubectl takes it."""
    _, groups = await client.request("GET", "/apis")
    versions = [f"/apis/{each['preferredVersion']['groupVersion']}" for each in groups["groups"]]
    for root in ("/api/v1", *versions):
        _, listed = await client.request("GET", root)
        for each in listed["resources"]:
            if resource in {each["name"], each["singularName"]}:
                return f"{root}/{each['name']}"
    raise AssertionError(f"kube-apiserver has no {resource}")


pytestmark = pytest.mark.proof
"""All of them: each goes on where the one before ended."""

TEAM, CLOSED = "team", "closed"
SANDBOX: Final = "sallyport.dev/sandbox"
RISKY: Final = {"app.kubernetes.io/name": "code-interpreter"}
TIMEOUT_S: Final = 60.0
PROBED: Final = (
    Target("the internet", INTERNET[0], 443, "TCP", NAME),
    Target("elsewhere", ELSEWHERE[0], 443, "TCP", NAME),
)


@dataclass
class Life:
    """The installation, and what was seen of it."""

    policed: PolicedNode
    chart: Chart
    image: Written
    bare: set[str] = field(default_factory=set)
    """All objects, before there was anything of the charts."""
    before: set[str] = field(default_factory=set)
    """The same, with the kinds."""
    measured: list[str] = field(default_factory=list)
    """Lines for the evidence."""

    def took(self, what: str, began: float, more: str = "") -> None:
        """Note the time since `began`."""
        self.measured.append(f"| {what} | {time.monotonic() - began:.1f} s | {more} |")


@pytest.fixture(scope="module")
def life(tmp_path_factory: pytest.TempPathFactory, helm: Helm) -> Iterator[Life]:
    """A node with the image, and the kinds, and no release yet."""
    try:
        archive, written = provide_image(tmp_path_factory.mktemp("image"))
    except CannotProvideError as error:
        skip_or_fail(error)
    with running_served_node(tmp_path_factory.mktemp("served"), outside_places()) as policed:
        policed.node.import_image(archive)
        found = Life(policed, Chart(helm, policed), written)
        asyncio.run(_begin(found))
        yield found


async def _begin(life: Life) -> None:
    async with connect(life.policed.node.apiserver) as client:
        await prepare(life.policed, client)
        life.bare = await all_objects(client)
        life.chart.install_kinds()
        for kind in ("ContainerProfile", "EgressAllowlist"):
            await client.wait_for_kind(names.API_VERSION, kind)
        life.before = await all_objects(client)


@pytest.fixture
def policed(life: Life) -> PolicedNode:
    """The node; its logs are shown with what fails."""
    return life.policed


@pytest.fixture
async def admin(life: Life) -> AsyncIterator[Client]:
    """A cluster administrator."""
    async with connect(life.policed.node.apiserver) as client:
        yield client


async def test_one_installation_runs_as_pods_and_judges(
    life: Life, policed: PolicedNode, admin: Client
) -> None:
    """`helm install --wait` comes back; control registers the webhooks without a second step."""
    began = time.monotonic()
    life.chart.apply()
    life.took("`helm install --wait`: 2 gates, control, auditor ready", began)
    began = time.monotonic()
    await judged(admin)
    life.took("then, until control has registered the webhooks", began)
    found = {each: await pods_of(admin, each) for each in ("gate", "control", "auditor")}
    counts = {each: len(pods) for each, pods in found.items()}
    assert counts == {"gate": 2, "control": 1, "auditor": 1}
    states = [pod["status"]["containerStatuses"][0] for pods in found.values() for pod in pods]
    assert {each["image"] for each in states} == {"localhost/sallyport:0.1.0"}
    assert {each["restartCount"] for each in states} == {0}


@pytest.fixture
async def alice(admin: Client) -> Client:
    """A person who may create Pods in the team's namespace, and has the profile of everyone."""
    try:
        await admin.get("v1", "Namespace", TEAM)
    except ApiStatusError:
        labels = {names.MODE_LABEL: "enforce", SANDBOX: "by-risk"}
        await admin.create_namespace(TEAM, labels)
        works = rule([""], "pods pods/log events", "get list create delete")
        await admin.apply(grant("works", works, user("alice"), namespace=TEAM))
    person = admin.as_user("alice", ("system:authenticated",))
    await person.wait_until_can("create", {"group": "", "resource": "pods", "namespace": TEAM})
    return person


async def test_a_pod_is_refused(life: Life, policed: PolicedNode, alice: Client) -> None:
    """Whoever lacks the right is told the field and what would cover it, by the Pods' gate."""
    began = time.monotonic()
    with pytest.raises(ApiStatusError) as refused:
        await alice.create(pod(TEAM, "host", hostNetwork=True))
    assert refused.value.status == HTTPStatus.FORBIDDEN
    assert "host/network" in refused.value.message
    assert "spec.hostNetwork" in refused.value.message
    life.took("a Pod refused", began, "403, with the privilege and the field")


async def test_a_risky_pod_is_sandboxed(life: Life, policed: PolicedNode, alice: Client) -> None:
    """With the RuntimeClass that the chart made; a harmless one runs as ever."""
    began = time.monotonic()
    risky = await run(alice, pod(TEAM, "risky", labels=RISKY))
    assert (risky.runtime_class, risky.under_gvisor) == ("gvisor", True)
    harmless = await run(alice, pod(TEAM, "harmless"))
    assert harmless.runtime_class is None
    assert "gvisor" not in harmless.printed.lower()
    life.took("a risky Pod run to its end, then a harmless one", began, "under gVisor; under runc")


async def test_egress_is_what_is_written(life: Life, policed: PolicedNode, admin: Client) -> None:
    """The network of an allowlist is reached, and no other; control made the policies."""
    began = time.monotonic()
    await admin.create_namespace(CLOSED, {names.EGRESS_LABEL: "deny"})
    await admin.create(allowlist(CLOSED, "internet", {"cidr": f"{INTERNET[0]}/32"}))
    wanted = pod(CLOSED, "trainer", "sleep 1000", terminationGracePeriodSeconds=0)
    deadline = time.monotonic() + TIMEOUT_S
    said = await created(admin, wanted)
    while said:
        assert "not closed yet" in said
        assert time.monotonic() < deadline
        await asyncio.sleep(0.2)
        said = await created(admin, wanted)
    running = await running_pod(admin, wanted)
    policed.wait_until_known([running])
    while (found := opened(probe(policed.node, running, PROBED))) != {PROBED[0]}:
        assert time.monotonic() < deadline, found
        await asyncio.sleep(0.2)
    life.took("egress, from enrolling on", began, "an allowlist's network is reached, no other")


async def test_decisions_reach_the_auditor(life: Life, policed: PolicedNode, admin: Client) -> None:
    """By the Service's name, through the chart's own network policies."""
    (auditor,) = await pods_of(admin, "auditor")
    deadline = time.monotonic() + TIMEOUT_S
    while await metric(admin, auditor, "sallyport_received_records_total") < 1:
        assert time.monotonic() < deadline, "no decision has arrived"
        await asyncio.sleep(0.5)


def test_helm_test_passes(life: Life, policed: PolicedNode) -> None:
    """The chart's own test finds that what arrives is judged."""
    began = time.monotonic()
    assert "Succeeded" in life.chart.run("test")
    life.took("`helm test`", began, "passed")


@pytest.mark.skipif(not PROOF, reason="a proof: set SALLYPORT_PROOF=1 (make proof)")
async def test_starts_are_measured(
    life: Life, policed: PolicedNode, admin: Client, tmp_path: Path
) -> None:
    """From a process's start to its being ready, in turn with a gate of the checkout."""
    pods, checkouts = [], []
    for _ in range(size(1, 3)):
        pods.append(await start_of_a_pod(policed, admin))
        checkouts.append(start_of_the_checkout(policed, tmp_path))
    for what, found in (("in a Pod of the image", pods), ("from the checkout", checkouts)):
        shown = f"{min(found):.1f} to {max(found):.1f}, {len(found)} rounds in turn"
        life.measured.append(
            f"| a gate's start {what}, exec to ready | {median(found):.1f} s | {shown} |"
        )
    assert max(pods) < TIMEOUT_S
    await settled(policed, admin)


@pytest.mark.parametrize("change", ["upgrade", "rollback"])
async def test_no_admission_fails_while_it_changes(
    life: Life, policed: PolicedNode, alice: Client, admin: Client, change: str
) -> None:
    """Each Pod of the gate is another afterwards, and nobody was refused or not answered."""
    before = {each["metadata"]["uid"] for each in await pods_of(admin, "gate")}
    revisions = life.chart.revisions()
    asked, end, began = Asked(), asyncio.Event(), time.monotonic()
    asking = asyncio.create_task(keep_asking(alice, TEAM, asked, end))
    if change == "upgrade":
        await asyncio.to_thread(life.chart.apply, {"maxStalenessSeconds": 61})
    else:
        await asyncio.to_thread(life.chart.run, "rollback", "--wait", "--timeout", "180s")
    end.set()
    await asking
    said = f"{len(asked.answers)} dry runs of a Pod, {len(asked.wrong)} not admitted"
    life.took(f"`helm {change} --wait`, both gates replaced", began, said)
    assert asked.wrong == []
    assert len(asked.answers) > 20
    assert life.chart.revisions() == [*revisions, revisions[-1] + 1]
    assert before.isdisjoint({each["metadata"]["uid"] for each in await pods_of(admin, "gate")})


@pytest.mark.skipif(not PROOF, reason="a proof: set SALLYPORT_PROOF=1 (make proof)")
async def test_uninstalled_it_leaves_what_is_written_down(
    life: Life, policed: PolicedNode, admin: Client
) -> None:
    """By the commands of docs/operate/chart.md, "Remove": no namespace is held, nothing is left.

    Every object of the cluster is compared with those that were there before. Until the policies
    are taken away, closed namespaces stay closed.
    """
    uninstall, *more = written_commands()
    began = time.monotonic()
    life.chart.command(*uninstall[1:])
    life.took("`helm uninstall`, with its hook", began, "nothing is judged, allowlists are let go")
    await kubectl_delete(admin, "namespaces", TEAM)
    outside = {each for each in await left(admin, life.before) if f" {NAMESPACE}/" not in each}
    own = {f"NetworkPolicy {CLOSED}/sallyport-{each}" for each in ("default-deny", "dns")}
    assert {each for each in outside if f" {CLOSED}/" not in each} == {f"Namespace /{CLOSED}"}
    assert own <= outside
    began = time.monotonic()
    for program, *words in more:
        if program == "helm":
            life.chart.command(*words)
        else:
            assert await kubectl_delete(admin, *words[1:])
        if "networkpolicies" in words:
            await kubectl_delete(admin, "namespaces", CLOSED)
    life.took("the other commands of *Remove*", began, "nothing is left")
    # Prepared for the test, in that namespace.
    assert life.bare - await all_objects(admin) <= {
        each for each in life.bare if f"/{NAMESPACE}" in each or f" {NAMESPACE}/" in each
    }
    deadline = time.monotonic() + TIMEOUT_S
    while found := await left(admin, life.bare):  # kube-apiserver takes an APIService away later.
        assert time.monotonic() < deadline, found
        await asyncio.sleep(0.5)
    assert f"PersistentVolume /{LEDGER}" in await all_objects(admin)
    record("cluster-install", evidence(life.image, life.measured))
