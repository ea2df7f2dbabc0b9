"""Reviews over HTTP while bundles are swapped every second: none fails, none mixes two bundles."""

import asyncio
import itertools
import os
import re
import statistics
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest

from bench.client import asking
from policies.bundle import read_bundle
from tests.harness.evidence import record
from tests.harness.gate import PROGRAM
from tests.harness.pki import Authority
from tests.harness.process import ServerProcess, free_ports
from tests.harness.reviews import pod_review
from tests.harness.sizes import PROOF, size
from tests.harness.status import ask, is_ready
from tests.unit.admission.world import Folder, pod
from tests.unit.policies.bundles import make_bundle, make_site_bundle, rule

SECONDS: Final = size(ci=5, proof=60)
RATE: Final = size(ci=100, proof=1050)
"""Reviews a second that are asked for, together."""

CLIENTS: Final = 8
SWAP_S: Final = 1.0
LONGEST_S: Final = 90.0
"""After which something must have been swapped and refused: a busy machine takes its time."""

KINDS_OF_PODS: Final = 100
"""Different Pods, in turn: each is evaluated anew after a swap."""

_json = msgspec.json.Decoder().decode

RULE: Final = """# METADATA
# scope: package
# title: Who
# description: Says which bundle it is in.
# schemas:
# - input: schema.judge
# - input.projection: schema.projection
# custom:
#   severity: low
#   message: was judged by {value}
#   remedy: Leave it.
package sallyport.rules.acme.NAME

deny contains {"path": "spec", "value": "NAME"}
"""
"""Two of them in each bundle, both of which must speak."""


@dataclass
class Load:
    """What was asked and answered."""

    waits: list[float] = field(default_factory=list)
    revisions: "Counter[str]" = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def rate(self) -> float:
        """Reviews a second."""
        return len(self.waits) / self.seconds

    def row(self, name: str) -> str:
        """Give a line of a table."""
        cut = statistics.quantiles(self.waits, n=1000)
        times = " | ".join(f"{1000 * each:.1f}" for each in (cut[499], cut[989], max(self.waits)))
        return f"| {name} | {len(self.waits)} | {self.rate:.0f} | {len(self.wrong)} | {times} |"


@dataclass
class Scene:
    """A gate that follows a file."""

    port: int
    status_port: int
    ca: Path
    file: Path
    good: dict[str, Path]
    """Bundles by the word that their rules say."""
    bad: list[Path]

    def put(self, bundle: Path) -> None:
        """Replace the file in one step."""
        new = self.file.with_suffix(".new")
        new.write_bytes(bundle.read_bytes())
        new.replace(self.file)

    def metric(self, text: str) -> float:
        """Give a metric."""
        shown = ask(self.status_port, "/metrics")[1]
        found = re.search(rf"^{re.escape(text)} (\S+)$", shown, re.MULTILINE)
        assert found, text
        return float(found[1])


def _site(word: str) -> dict[str, str]:
    return {f"{name}.rego": RULE.replace("NAME", name) for name in (f"{word}_a", f"{word}_b")}


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """A gate with a folder for a cluster, and bundles that are good and bad."""
    folder = tmp_path_factory.mktemp("swap")
    good = {}
    for word in ("first", "second"):
        (folder / word).mkdir()
        good[word] = make_site_bundle(folder / word, _site(word))
    (folder / "junk").write_bytes(b"no bundle")
    call = 'http.send({"method": "get", "url": "https://x.example"}).status_code == 200'
    (folder / "calling").mkdir()
    bad = [folder / "junk", make_bundle(folder / "calling", {"x.rego": rule(call)})]
    Folder(folder / "cluster").namespace("train").grant(
        "Group:system:authenticated", "pss-restricted"
    ).cluster()
    pair = Authority(folder).issue_loopback_server("gate")
    port, status_port = free_ports(2)
    made = Scene(port, status_port, folder / "ca.crt", folder / "now.tar.gz", good, bad)
    made.put(good["first"])
    settings = {
        "SALLYPORT_LISTEN__PORT": str(port),
        "SALLYPORT_LISTEN__CERT": str(pair.certificate),
        "SALLYPORT_LISTEN__KEY": str(pair.key),
        "SALLYPORT_LISTEN__DRAIN_SECONDS": "0",
        "SALLYPORT_STATUS__PORT": str(status_port),
        "SALLYPORT_BUNDLES__POLL": "0.1",
    }
    where = ("--cluster", folder / "cluster", "--bundle", made.file)
    process = ServerProcess("gate", [PROGRAM, "gate", *where], folder / "gate.log", settings)
    try:
        process.wait_until(lambda: is_ready(status_port), 60)
        yield made
    finally:
        process.stop()


async def load(scene: Scene, seconds: float) -> Load:
    """Ask at a steady rate, and look at each answer."""
    revisions = {read_bundle(path).revision: word for word, path in scene.good.items()}
    bodies = [_body(number) for number in range(KINDS_OF_PODS)]
    found, numbers, began = Load(), itertools.count(), time.perf_counter()

    async def work() -> None:
        async with asking(scene.port, scene.ca) as client:
            while True:
                number = next(numbers)
                due = began + number / RATE
                if due > began + seconds:
                    return
                await asyncio.sleep(max(0.0, due - time.perf_counter()))
                took, answer = await client.ask(bodies[number % KINDS_OF_PODS])
                found.waits.append(took)
                _look(answer, revisions, found)

    async with asyncio.TaskGroup() as group:
        for _ in range(CLIENTS):
            group.create_task(work())
    found.seconds = time.perf_counter() - began
    return found


def _body(number: int) -> bytes:
    made = pod()
    made["spec"]["containers"][0]["name"] = f"trainer-{number}"
    return pod_review(made, "train", "alice")


def _look(answer: bytes, revisions: dict[str, str], found: Load) -> None:
    """Hold one answer to what the bundle that it names would say."""
    head, _, body = answer.partition(b"\r\n\r\n")
    response: dict[str, Any] = _json(body)["response"] if b" 200 " in head[:20] else {}
    revision = response.get("auditAnnotations", {}).get("policy", "")
    found.revisions[revision] += 1
    said = re.findall(r"was judged by (\w+)", response.get("status", {}).get("message", ""))
    word = revisions.get(revision, "")
    if response.get("allowed") is not False or sorted(set(said)) != [f"{word}_a", f"{word}_b"]:
        found.wrong.append(answer[:500].decode(errors="replace"))


async def swap(scene: Scene) -> None:
    """Put another good bundle into the file each second; now and then a bad one first."""
    for number in itertools.count():
        if number % 3 == 2:
            scene.put(scene.bad[number // 3 % len(scene.bad)])
            await asyncio.sleep(SWAP_S / 2)
        scene.put(scene.good[("second", "first")[number % 2]])
        await asyncio.sleep(SWAP_S)


def seen_enough(scene: Scene) -> bool:
    """Say whether bundles were put in force, and one was refused."""
    count = scene.metric('sallyport_bundle_changes_total{result="in-force"}')
    return count >= 2 and scene.metric('sallyport_bundle_changes_total{result="refused"}') >= 1


async def test_no_review_fails_or_mixes_while_bundles_are_swapped(scene: Scene) -> None:
    """Each names one revision, and says exactly what that bundle says."""
    still = await load(scene, SECONDS / 2)
    swapping = asyncio.create_task(swap(scene))
    swapped = await load(scene, SECONDS)
    patience = time.monotonic() + LONGEST_S
    while not (seen_enough(scene) and len(swapped.revisions) == 2):
        assert time.monotonic() < patience, "no bundle was swapped, or none refused"
        more = await load(scene, 1.0)
        swapped.wrong += more.wrong
        swapped.revisions.update(more.revisions)
    swapping.cancel()
    await asyncio.gather(swapping, return_exceptions=True)
    assert still.wrong == []
    assert swapped.wrong == []
    if PROOF:
        count = scene.metric('sallyport_bundle_changes_total{result="in-force"}')
        refused = scene.metric('sallyport_bundle_changes_total{result="refused"}')
        record("bundle-swap", _page(still, swapped, int(count), int(refused)))


def _page(still: Load, swapped: Load, count: int, refused: int) -> list[str]:
    shares = ", ".join(f"{name} {number}" for name, number in sorted(swapped.revisions.items()))
    return [
        f"- {CLIENTS} connections over TLS to one `sallyport gate`, {KINDS_OF_PODS} different "
        f"Pods, {RATE} reviews a second asked for; client and gate on the same machine, beside "
        f"other work (load {os.getloadavg()[1]:.1f})",
        "",
        "A bundle is put into the file that the gate follows each second, every third time a bad "
        "one first (no bundle at all, or one that calls `http.send`). Each answer must be a "
        "refusal that names one revision, with exactly the two findings of that bundle.",
        "",
        "| | Reviews | A second | Failed or mixed | p50 ms | p99 ms | Longest ms |",
        "|---|---|---|---|---|---|---|",
        still.row("without a swap"),
        swapped.row("with swaps"),
        "",
        f"Put in force: {count}; refused, with the old one in force: {refused}. Reviews by "
        f"revision: {shares}.",
        "",
        "Made by `tests/api/policies/test_bundle_swap.py`.",
    ]
