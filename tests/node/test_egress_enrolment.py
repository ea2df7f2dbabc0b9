"""A namespace in use is enrolled step by step, by the commands, while its Pods work on a node.

Their packets are recorded on the node and written as Hubble writes flows: kube-router has no flow
log.
"""

import asyncio
import datetime as dt
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from cli import exits
from tests.harness.evidence import ROOT, record
from tests.harness.programs.client import Client, Json, connect, read_objects
from tests.harness.programs.helm import Helm
from tests.harness.programs.node.node import NodeShape
from tests.harness.programs.node.outside_world import ELSEWHERE, INTERNET, NEIGHBOUR
from tests.harness.programs.node.policed_node import SHAPE, PolicedNode
from tests.harness.programs.node.scene import (
    READER,
    TEAM,
    TRAINER,
    Scene,
    addresses_of,
    running_pod,
    set_scene,
    sleeper,
)
from tests.harness.programs.probing.connections import (
    ENVIRONMENT,
    Target,
    opened,
    serve_in,
    watching,
)
from tests.harness.sizes import PROOF, size
from tests.harness.worlds.rbac import grant, group, use_of
from tests.node.egress_processes import Installed, egress_settings, installed

PROGRAM: Final = Path(sys.executable).parent / "sallyport"
OLD, NEAR = "old", "neighbour"
"""Pods that were there before the audit."""
REGISTRY: Final = "registry.example.com"
ANEW: Final = "anew"
"""What the server of the second one calls itself once that was made anew."""
FETCH, READ = "fetch", "read"
"""Jobs of the team: of the trainer's account, and of the reader's."""
WORKS_S: Final = size(12, 60)
"""So long the Pods work before each step."""
SETTLES_S: Final = size(6, 20)
"""So long they work after the last one."""
START_TIMEOUT_S: Final = 60.0


@dataclass(frozen=True)
class Field:
    """A namespace in use, and what works on it."""

    scene: Scene
    installed: Installed
    folder: Path

    @property
    def uses(self) -> dict[str, list[Target]]:
        """What the Pods of each Job connect to, again and again."""
        scene = self.scene
        both = ("UDP 53", "TCP 53")
        return {
            FETCH: sorted(
                scene.named("the internet", "TCP 443")
                | scene.named("elsewhere", "TCP 8000", "UDP 5000")
                | scene.named("api", "TCP 8080")
                | scene.named("dns", *both)
            ),
            READ: sorted(scene.named("other", "TCP 9090") | scene.named("dns", *both)),
        }

    def sallyport(self, *arguments: str, code: int = exits.ADMITTED) -> Any:
        """Run a command against the cluster, with control's settings; return its JSON."""
        done = self.run(*arguments, "-o", "json")
        assert done.returncode == code, done.stdout + done.stderr
        return json.loads(done.stdout)

    def run(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """Run a command of `sallyport egress`."""
        kubeconfig = self.scene.policed.node.apiserver.kubeconfig()
        return subprocess.run(
            [PROGRAM, "egress", *arguments, "--kubeconfig", kubeconfig],
            env={**os.environ, **egress_settings("127.0.0.1:9")},
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

    def suggest(self, flows: Path) -> list[Json]:
        """Return the allowlists that are suggested, as one would apply them."""
        done = self.run("suggest", str(flows))
        assert done.returncode == exits.ADMITTED, done.stderr
        return [item for item in yaml.safe_load_all(done.stdout) if item]


@pytest.fixture(scope="module")
def notes() -> Iterator[list[str]]:
    """What was measured; a page of it in a proof."""
    found = [
        "- The chart's gate and control as processes, a real kube-apiserver, kubelet, containerd",
        "  and Job controller; kube-router as the policy engine; Pods in both families",
        "- Flows: packets of all links of the node, told in the form of Hubble",
    ]
    yield found
    if PROOF:
        record("egress-enrolment", found)


@pytest.fixture(scope="module")
def policed_shape() -> NodeShape:
    """Its kube-apiserver asks the gate by its Service."""
    return replace(SHAPE, by_service=True)


@pytest.fixture(scope="module")
def field(
    policed: PolicedNode, tmp_path_factory: pytest.TempPathFactory, helm: Helm
) -> Iterator[Field]:
    """Gate and control at work, and a namespace in use, which is not enrolled."""
    old = sleeper(TEAM, OLD, {}, serviceAccountName=TRAINER)
    with installed(policed, tmp_path_factory.mktemp("installed"), helm) as found:
        found.names.set(REGISTRY, *INTERNET, ttl=1)
        scene = asyncio.run(set_scene(policed, [old]))
        yield Field(scene, found, tmp_path_factory.mktemp("flows"))


@pytest.fixture
async def admin(policed: PolicedNode) -> AsyncIterator[Client]:
    """A cluster administrator."""
    async with connect(policed.node.apiserver) as client:
        yield client


def _job(name: str, account: str) -> Json:
    pod = sleeper(TEAM, name, {}, serviceAccountName=account, restartPolicy="Never")
    template = {"metadata": {"labels": {"app": name}}, "spec": pod["spec"]}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": TEAM},
        "spec": {"template": template},
    }


async def _run(admin: Client, field: Field) -> None:
    """Make the Jobs, and wait until their Pods run and the engine knows them."""
    await admin.apply(read_objects(ROOT / "policies/profiles/pss-baseline.yaml"))
    await admin.apply(grant("use", use_of("pss-baseline"), group(f"system:serviceaccounts:{TEAM}")))
    for name, account in ((FETCH, TRAINER), (READ, READER)):
        await admin.create_service_account(account, TEAM)
        await admin.create(_job(name, account))
        pod = await _pod_of(admin, name)
        field.scene.pods[name] = pod
    field.scene.policed.wait_until_known([field.scene.pods[each] for each in (FETCH, READ)])
    for name, targets in field.uses.items():
        await asyncio.to_thread(field.scene.wait_until_open, name, targets)


async def _make_anew(admin: Client, field: Field) -> None:
    """Do as the command says: Pods that are older than the audit are restarted."""
    scene = field.scene
    for name in (OLD, NEAR):
        await admin.delete(scene.pods[name])
        await admin.wait_until_gone(f"/api/v1/namespaces/{TEAM}/pods/{name}")
    near = await running_pod(admin, await admin.create(sleeper(TEAM, NEAR, {"app": NEAR})))
    scene.pods[NEAR] = near
    serve_in(scene.policed.node, near, ANEW, [f"TCP,{addresses_of(near)[0]},8080"])


async def _pod_of(admin: Client, job: str) -> Json:
    deadline = time.monotonic() + START_TIMEOUT_S
    path = f"/api/v1/namespaces/{TEAM}/pods"
    while True:
        _, found = await admin.request("GET", path, parameters={"labelSelector": f"app={job}"})
        if found["items"]:
            (pod,) = found["items"]
            return await running_pod(admin, pod)
        assert time.monotonic() < deadline, f"Job {job} has no Pod"
        await asyncio.sleep(0.1)


@contextmanager
def _recorded(field: Field, name: str) -> Iterator[Path]:
    """Record what Pods of the team connect to; the file is there once the context has been left."""
    node, file = field.scene.policed.node, field.folder / f"{name}.jsonl"
    ready = field.folder / f"{name}.ready"
    module = "tests.harness.programs.probing.recorder"
    with subprocess.Popen(
        node.command(sys.executable, "-m", module, ready),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **ENVIRONMENT},
    ) as process:
        deadline = time.monotonic() + START_TIMEOUT_S
        while not ready.exists():
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.05)
        yield file
        said, _ = process.communicate("")
    flows = _flows(json.loads(said), field.scene.pods.values())
    file.write_text("".join(f"{json.dumps(each)}\n" for each in flows))


def _flows(connections: Iterable[Json], pods: Iterable[Json]) -> Iterator[Json]:
    """Write connections of the team's Jobs as Hubble's exporter does."""
    by_address = {one["ip"]: pod for pod in pods for one in pod["status"]["podIPs"]}
    for each in connections:
        source = by_address.get(each["source"])
        if source is None or source["metadata"]["labels"].get("app") not in {FETCH, READ}:
            continue
        flow = {
            "time": f"{dt.datetime.fromtimestamp(each['time'], dt.UTC):%Y-%m-%dT%H:%M:%S.%fZ}",
            "verdict": "FORWARDED" if each["answered"] else "DROPPED",
            "IP": {"source": each["source"], "destination": each["destination"]},
            "l4": {each["protocol"]: {"destination_port": each["port"]}},
            "source": _endpoint(source),
            "destination": _endpoint(by_address.get(each["destination"])),
            "traffic_direction": "EGRESS",
            "is_reply": False,
        }
        yield {"flow": flow}


def _endpoint(pod: Json | None) -> Json:
    if pod is None:
        return {"labels": ["reserved:world"]}
    metadata = pod["metadata"]
    account = pod["spec"]["serviceAccountName"]
    owners = metadata.get("ownerReferences") or ()
    return {
        "namespace": metadata["namespace"],
        "pod_name": metadata["name"],
        "labels": [f"k8s:io.cilium.k8s.policy.serviceaccount={account}"],
        "workloads": [{"kind": each["kind"], "name": each["name"]} for each in owners],
    }


@pytest.mark.proof
async def test_a_namespace_in_use_is_closed_and_nothing_that_was_seen_is_refused(
    field: Field, admin: Client, notes: list[str]
) -> None:
    """From audit to closed: each look at each destination that was seen finds it open."""
    scene, node = field.scene, field.scene.policed.node
    step = field.sallyport("enrol", TEAM)
    assert (step["before"], step["after"]) == ("", "audit")
    await _run(admin, field)
    uses, began = field.uses, time.time()
    steps: list[str] = []
    with (
        watching(node, scene.pods[FETCH], uses[FETCH]) as fetched,
        watching(node, scene.pods[READ], uses[READ]) as was_read,
    ):
        with _recorded(field, "audit") as flows:
            await asyncio.sleep(WORKS_S)
        seen = field.sallyport("status", TEAM, "--flows", str(flows), code=exits.REFUSED)
        (before,) = seen["namespaces"]
        assert before["state"] == "audit"
        refused = field.sallyport(
            "enrol", TEAM, "--flows", str(flows), "--close", f"Job/{FETCH}", code=exits.REFUSED
        )
        assert not refused["changed"]
        told = "\n".join(refused["hindrances"])
        assert "it would close" in told
        assert "Pods neighbour, old lack the gate's labels" in told
        await _make_anew(admin, field)

        for item in field.suggest(flows):
            await admin.create(_by_name(item))
        covered = await _until_covered(field, flows)
        seen_by = ["--flows", str(flows)]
        step = field.sallyport("enrol", TEAM, *seen_by, "--close", f"Job/{FETCH}")
        assert step["closed"] == [f"Job/{FETCH}"]
        steps.append(f"{time.time() - began:.2f} s")
        await asyncio.sleep(WORKS_S)
        step = field.sallyport("enrol", TEAM, *seen_by, "--all", code=exits.REFUSED)
        assert step["hindrances"] == [f"no flow was seen of Pod {NEAR} (of 1 that run)"]
        step = field.sallyport("enrol", TEAM, *seen_by, "--all", "--force")
        assert step["after"] == "deny"
        steps.append(f"{time.time() - began:.2f} s")
        await _until_closed(field)
        await asyncio.sleep(SETTLES_S)
    for job, watched in ((FETCH, fetched), (READ, was_read)):
        rounds = watched.opened()
        refused_at = [
            (f"{at - began:.2f} s", sorted(map(str, set(uses[job]) - opened(found))))
            for at, found in watched.rounds
            if opened(found) != set(uses[job])
        ]
        assert not refused_at, f"Job {job}, {len(rounds)} looks, steps at {steps}: {refused_at}"
        notes.append(
            f"- Job {job}: {len(rounds)} looks at {len(uses[job])} destinations, 0 refused"
        )
    share = covered["coverage"]["share"]
    assert share["flows"] == share["allowedFlows"] > 0
    notes.append(f"- The audit saw {share['flows']} flows of {share['pairs']} pairs: all allowed")


def _by_name(item: Json) -> Json:
    """Have an allowlist name the Internet's addresses by their DNS name."""
    own = {f"{INTERNET[0]}/32", f"{INTERNET[1]}/128"}
    others = [each for each in item["spec"]["to"] if each.get("cidr") not in own]
    if len(others) < len(item["spec"]["to"]):
        others.append({"dnsName": REGISTRY, "ports": [{"protocol": "TCP", "port": 443}]})
    return {**item, "spec": {**item["spec"], "to": others}}


async def _until_covered(field: Field, flows: Path) -> Any:
    """Wait until the allowlists allow all that was seen."""
    deadline = time.monotonic() + START_TIMEOUT_S
    while True:
        done = field.run("status", TEAM, "--flows", str(flows), "-o", "json")
        if done.returncode == exits.ADMITTED:
            (team,) = json.loads(done.stdout)["namespaces"]
            return team
        assert time.monotonic() < deadline, done.stdout
        await asyncio.sleep(1)


async def _until_closed(field: Field) -> None:
    """Wait until what nothing opens is closed to both."""
    (shut,) = field.scene.named("elsewhere", "TCP 8011") & {
        field.scene.at(ELSEWHERE[0], "TCP 8011")
    }
    for job in (FETCH, READ):
        await asyncio.to_thread(field.scene.wait_until_closed, job, shut)


def _unseen(scene: Scene) -> dict[str, Target]:
    """Return one of each kind of destination that the audit did not see."""
    near = addresses_of(scene.pods[NEAR])[0]
    return {
        "an address beside one that was seen": scene.at(NEIGHBOUR[0], "TCP 443"),
        "the same in IPv6": scene.at(NEIGHBOUR[1], "TCP 443"),
        "another port of an address that was seen": scene.at(INTERNET[0], "TCP 8443"),
        "another protocol of a port that was seen": scene.at(INTERNET[0], "UDP 443"),
        "a resolver outside": scene.at(ELSEWHERE[0], "UDP 53"),
        "another port of a Pod that was seen": _first(scene.named("api", "TCP 9090")),
        "a Pod of another namespace": _first(scene.named("other", "TCP 8080")),
        "a Pod of its own namespace": Target("near", near, 8080, server=ANEW),
        "the metadata service": _first(scene.named("metadata", "TCP 80")),
        "the kubelet": _first(scene.named("the kubelet")),
        "kube-apiserver": _first(scene.named("kube-apiserver")),
        "a node elsewhere": _first(scene.named("another node's kubelet")),
    }


def _tells(dropped: Json, target: Target, scene: Scene) -> bool:
    """Return whether a destination, as `status` writes it, is this one, with its port."""
    pods = {ip: pod["metadata"] for pod in scene.pods.values() for ip in addresses_of(pod)}
    of = pods.get(target.address)
    is_there = target.address in dropped["to"] or (of and of["namespace"] in dropped["to"])
    ports = re.findall(r"[0-9]+", dropped["ports"])
    return bool(is_there) and target.protocol in dropped["ports"] and str(target.port) in ports


def _first(targets: set[Target]) -> Target:
    return min(targets)


@pytest.mark.proof
async def test_one_of_each_kind_that_was_not_seen_is_refused_and_told(
    field: Field, notes: list[str]
) -> None:
    """`explain` says CLOSED of each, and `status` lists what was dropped, with the reason."""
    scene = field.scene
    unseen = _unseen(scene)
    assert opened(scene.probe("control", list(unseen.values()))) == set(unseen.values())
    with _recorded(field, "closed") as flows:
        found = scene.probe(FETCH, list(unseen.values()))
    assert not opened(found), opened(found)
    pod = f"{TEAM}/{scene.pods[FETCH]['metadata']['name']}"
    for what, target in unseen.items():
        address = f"[{target.address}]" if ":" in target.address else target.address
        udp = "/udp" if target.protocol == "UDP" else ""
        told = field.sallyport("explain", pod, f"{address}:{target.port}{udp}", code=exits.REFUSED)
        assert told["verdict"] == "closed", (what, told)
        assert told["why"], what
    (team,) = json.loads(field.run("status", TEAM, "--flows", str(flows), "-o", "json").stdout)[
        "namespaces"
    ]
    dropped = team["coverage"]["dropped"]
    assert all(each["why"] for each in dropped)
    told = {each for each in unseen.values() if any(_tells(one, each, scene) for one in dropped)}
    assert told == set(unseen.values()), dropped
    notes.append(f"- Not seen, tried, refused and told: {', '.join(unseen)}")


@pytest.mark.proof
async def test_the_way_back_opens_at_once(field: Field, notes: list[str]) -> None:
    """`egress release` takes the namespace back to audit: what was closed is open."""
    scene = field.scene
    began = time.monotonic()
    step = field.sallyport("release", TEAM)
    assert step["after"] == "audit"
    scene.wait_until_open(FETCH, [scene.at(NEIGHBOUR[0], "TCP 443")])
    notes.append(
        f"- Released: open again {time.monotonic() - began:.1f} s after the command was given"
    )
