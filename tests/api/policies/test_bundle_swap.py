"""Reviews over HTTP while bundles, good and bad, are put into a gate's file: none fails or mixes.

Each bad one is refused with its reason, and the old one stays in force.
"""

import asyncio
import itertools
import json
import os
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

import pytest

from policies.bundle.format import read_bundle
from tests.harness.evidence import record
from tests.harness.load.bundle_swaps import Answers, Loading
from tests.harness.load.reviews import pod_review
from tests.harness.programs.gate import PROGRAM
from tests.harness.programs.pki import Authority
from tests.harness.programs.ports import free_ports
from tests.harness.programs.process import ServerProcess
from tests.harness.programs.status import ask, is_ready
from tests.harness.sizes import PROOF, size
from tests.harness.worlds.swap_bundles import Bad, bad, good, pods
from tests.unit.admission.world import Folder

SECONDS: Final = size(ci=3, proof=60)
"""Of good bundles that are swapped; half of it before, without any."""

BAD_SECONDS: Final = size(ci=0, proof=15)
"""In which each kind of bad bundle comes again and again; it comes once at least."""

RATE: Final = size(ci=60, proof=1050)
"""Reviews a second that are asked for, together."""

SWAP_S: Final = 1.0
LONGEST_S: Final = 120.0
"""After which what must happen has happened: a busy machine takes its time."""

KINDS_OF_PODS: Final = 80
"""Different Pods, in turn: each is evaluated anew after a swap."""

IN_FORCE: Final = 'sallyport_bundle_changes_total{result="in-force"}'
REFUSED: Final = 'sallyport_bundle_changes_total{result="refused"}'


@dataclass
class Scene:
    """A gate that follows a file."""

    port: int
    status_port: int
    folder: Path
    good: dict[str, Path]
    """Bundles by the word that their rules say."""
    bad: dict[str, Bad]
    told: list[str] = field(default_factory=list)
    """Why bundles were refused, as far as its log was read."""
    read: int = 0
    """Bytes of it: it has a line for each review."""

    def put(self, bundle: Path) -> None:
        """Replace the file in one step."""
        new = self.folder / "now.new"
        new.write_bytes(bundle.read_bytes())
        new.replace(self.folder / "now.tar.gz")

    def metric(self, text: str) -> float:
        """Return a metric."""
        found = re.search(rf"^{re.escape(text)} (\S+)$", self.shown(), re.MULTILINE)
        assert found, text
        return float(found[1])

    def judges_by(self, word: str) -> bool:
        """Return whether a bundle is in force."""
        revision = read_bundle(self.good[word]).revision
        return f'sallyport_policy_info{{revision="{revision}"}} 1' in self.shown()

    def shown(self) -> str:
        """Return all metrics."""
        return ask(self.status_port, "/metrics")[1]

    def refused_more_than(self, count: float) -> bool:
        """Return whether more bundles were refused."""
        return self.metric(REFUSED) > count

    def told_more_than(self, count: int) -> bool:
        """Return whether more refusals were logged: each is counted first."""
        return len(self.refusals()) > count

    def refusals(self) -> list[str]:
        """Return the reasons that it logged."""
        with (self.folder / "gate.log").open("rb") as log:
            log.seek(self.read)
            lines = log.read().splitlines(keepends=True)
        for line in lines:
            if not line.endswith(b"\n"):
                break
            self.read += len(line)
            if b"policy bundle refused" in line:
                self.told.append(json.loads(line)["problem"])
        return self.told

    def loading(self) -> Loading:
        """Return what asks it."""
        bodies = [pod_review(each, "train", "alice") for each in pods(KINDS_OF_PODS)]
        made = Loading([self.port], self.folder / "ca.crt", bodies, RATE)
        made.words = {read_bundle(path).revision: word for word, path in self.good.items()}
        return made


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """A gate with a folder for a cluster, and bundles that are good and bad."""
    folder = tmp_path_factory.mktemp("swap")
    made_good = {word: good(folder, word) for word in ("first", "second")}
    Folder(folder / "cluster").namespace("train").grant(
        "Group:system:authenticated", "pss-restricted"
    ).cluster()
    pair = Authority(folder).issue_loopback_server("gate")
    port, status_port = free_ports(2)
    made = Scene(port, status_port, folder, made_good, bad(folder))
    made.put(made.good["first"])
    settings = {
        "SALLYPORT_LISTEN__PORT": str(port),
        "SALLYPORT_LISTEN__CERT": str(pair.certificate),
        "SALLYPORT_LISTEN__KEY": str(pair.key),
        "SALLYPORT_LISTEN__DRAIN_SECONDS": "0",
        "SALLYPORT_STATUS__PORT": str(status_port),
        "SALLYPORT_BUNDLES__POLL": "0.1",
        "SALLYPORT_LOG_FORMAT": "json",
    }
    where = ("--cluster", folder / "cluster", "--bundle", folder / "now.tar.gz")
    process = ServerProcess("gate", [PROGRAM, "gate", *where], folder / "gate.log", settings)
    try:
        process.wait_until(lambda: is_ready(status_port), LONGEST_S)
        yield made
    finally:
        process.stop()


async def until(condition: Callable[[], object]) -> None:
    """Wait for what must come."""
    async with asyncio.timeout(LONGEST_S):
        while not await asyncio.to_thread(condition):  # noqa: ASYNC110 -- of another process
            await asyncio.sleep(0.05)


async def swap(scene: Scene) -> None:
    """Put another good bundle into the file each second, each once the one before is in force."""
    end = time.monotonic() + SECONDS
    for word in itertools.cycle(("second", "first")):
        due = time.monotonic() + SWAP_S
        scene.put(scene.good[word])
        await until(partial(scene.judges_by, word))
        await asyncio.sleep(max(0.0, due - time.monotonic()))
        if word == "first" and time.monotonic() > end:
            return


async def offer(scene: Scene, one: Bad) -> list[float]:
    """Put a bad bundle into the file until the time is over; give the seconds until refused."""
    end, took = time.monotonic() + BAD_SECONDS, list[float]()
    while not took or time.monotonic() < end:
        before, began = scene.metric(REFUSED), time.monotonic()
        told = len(scene.refusals())
        scene.put(one.file)
        await until(partial(scene.refused_more_than, before))
        took.append(time.monotonic() - began)
        await until(partial(scene.told_more_than, told))
        assert re.search(one.why, scene.refusals()[-1])
        assert scene.metric("sallyport_bundle_refused") == 1
        assert is_ready(scene.status_port)
        scene.put(scene.good["first"])
        await until(lambda: not scene.metric("sallyport_bundle_refused"))
    return took


@pytest.mark.proof
async def test_no_review_fails_or_mixes_whatever_bundles_come(scene: Scene) -> None:
    """Each names one revision, and says exactly what that bundle says."""
    times: dict[str, list[float]] = {}
    found: dict[str, Answers] = {}
    first = read_bundle(scene.good["first"]).revision
    async with scene.loading() as load:
        found["without a swap"] = load.turn()
        await asyncio.sleep(SECONDS / 2)
        found["good ones, one a second"] = load.turn()
        await swap(scene)
        assert scene.metric(REFUSED) == 0
        for kind, one in scene.bad.items():
            swapped = scene.metric(IN_FORCE)
            found[kind] = load.turn()
            times[kind] = await offer(scene, one)
            assert scene.metric(IN_FORCE) == swapped
    for name, answers in found.items():
        assert answers.wrong == [], name
        assert name not in times or set(answers.revisions) <= {first}, name
    assert len(found["good ones, one a second"].revisions) == 2
    assert sum(map(len, times.values())) == scene.metric(REFUSED)
    if PROOF:
        record("bundle-swap", _page(scene, found, times))


def _page(scene: Scene, found: dict[str, Answers], times: dict[str, list[float]]) -> Iterator[str]:
    yield (
        f"- Connections over TLS to one `sallyport gate`, {KINDS_OF_PODS} different Pods, {RATE} "
        "reviews a second asked for; client and gate on the same machine, beside other work (load "
        f"{os.getloadavg()[1]:.1f})"
    )
    yield from (
        "",
        "Bundles are put into the file that the gate follows: good ones, and then of each kind of "
        f"bad ones one after the other for {BAD_SECONDS} s. Each answer must be a refusal that "
        "names one revision, with exactly the two findings of that bundle; while bad ones come, "
        "the revision must be the old one.",
        "",
        "| | Reviews | A second | Failed or mixed | p50 ms | p99 ms | Longest ms |",
        "|---|---|---|---|---|---|---|",
    )
    yield from (answers.row(name) for name, answers in found.items())
    yield from (
        "",
        f"Put in force: {scene.metric(IN_FORCE):.0f}. Refused, with the old one in force:",
        "",
        "| | Times | Longest until refused, s | Reason |",
        "|---|---|---|---|",
    )
    reasons = scene.refusals()
    for kind, each in times.items():
        why = next(reason for reason in reasons if re.search(scene.bad[kind].why, reason))
        shown = why.replace(str(scene.folder), "…").replace("|", "\\|")
        yield f"| {kind} | {len(each)} | {max(each):.1f} | {shown} |"
    yield from ("", "Made by `tests/api/policies/test_bundle_swap.py`.")
