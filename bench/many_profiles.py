"""`make bench-profiles`: 300 profiles and 10,000 subjects against 3, with a real kube-apiserver.

Reviews are sent straight to a gate whose access reviews are answered by kube-apiserver's own RBAC.
"""

import argparse
import asyncio
import os
import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from bench.client import Asking, asking
from bench.profiles import team_objects
from bench.rig import Rig, rig, say
from bench.servers import CLIENT_CORE, ROOT, Server, free_port
from bench.team_reviews import SORTS, Reviews, Sort
from tests.harness.apiserver import ApiServer
from tests.harness.client import Client, connect, read_objects
from tests.harness.evidence import record
from tests.harness.status import ask as ask_status
from tests.harness.status import is_ready

FEW: Final = 3
MANY: Final = 300
SUBJECTS: Final = 10_000

_REPEATS: Final = 15
_DIFFERENT: Final = 40
"""Different reviews of each sort that are asked again and again."""

_CONNECTIONS: Final = 16
_STARTING_S: Final = 30.0
_CRD: Final = ROOT / "helm/sallyport-crds/templates/containerprofiles.yaml"
_SHIPPED: Final = ROOT / "policies" / "profiles"
_METRIC: Final = 'sallyport_access_reviews_total{result="miss"}'


@dataclass(frozen=True)
class Result:
    """What was measured with so many profiles; times in ms."""

    profiles: int
    again: Mapping[str, Sequence[float]]
    """By sort: for each review that was asked again and again, its median."""
    first: Mapping[str, Sequence[float]]
    """By sort: for each subject, its first review."""
    asked: Mapping[str, float]
    """By sort: access reviews asked for a subject's first review (mean)."""
    reviews_per_second: float
    access_per_second: float


async def install(client: Client, teams: int) -> None:
    """Put the profiles of so many teams, and pss-restricted for everybody, into a cluster."""
    await client.apply(read_objects(_CRD))
    await client.wait_for_kind("sallyport.dev/v1alpha1", "ContainerProfile")
    for file in ("pss-restricted.yaml", "default-grant.yaml"):
        await client.apply(read_objects(_SHIPPED / file))
    await client.create_namespace("train")
    await client.apply(list(team_objects(teams)))


async def _measure(running: Rig, server: Server, status: int, profiles: int, size: int) -> Result:
    reviews = Reviews(profiles - 1)  # And pss-restricted, which everybody may use.
    ca = running.pair.ca
    again: dict[str, list[float]] = {}
    first: dict[str, list[float]] = {}
    asked: dict[str, float] = {}
    async with asking(server.port, ca) as client:
        for number, sort in enumerate(SORTS):
            subjects = range(1 + number * size, 1 + (number + 1) * size)
            before = _access_reviews(status)
            first[sort.what] = [
                await _timed(client, sort, reviews.make(sort, subject)) for subject in subjects
            ]
            asked[sort.what] = (_access_reviews(status) - before) / size
            again[sort.what] = await _again(
                client, sort, [reviews.make(sort, subject) for subject in range(_DIFFERENT)]
            )
    rate, access = await _flood(running, server, status, reviews)
    return Result(profiles, again, first, asked, rate, access)


async def _timed(client: Asking, sort: Sort, review: bytes) -> float:
    seconds, answer = await client.ask(review)
    if (b'"allowed":true' in answer) is not sort.allowed:
        raise SystemExit(f"unexpected answer to what {sort.what}: {answer.decode()[:1500]}")
    return 1000 * seconds


async def _again(client: Asking, sort: Sort, reviews: Sequence[bytes]) -> list[float]:
    """Return the median of each review, while all answers about rights are remembered.

    All are asked in turn, again and again: what else the machine does in a moment meets many
    reviews once, and not one review each time.
    """
    times: list[list[float]] = [[] for _ in reviews]
    for _ in range(1 + _REPEATS):
        for each, review in zip(times, reviews, strict=True):
            each.append(await _timed(client, sort, review))
    return [statistics.median(each[1:]) for each in times]


async def _flood(
    running: Rig, server: Server, status: int, reviews: Reviews, seconds: float = 10.0
) -> tuple[float, float]:
    """Load with all subjects in turn; give reviews and access reviews asked, a second."""
    loop = asyncio.get_running_loop()
    bodies = [
        [reviews.make(sort, subject) for subject in range(index, SUBJECTS, 97)]
        for index, sort in enumerate(SORTS)
    ]
    flat = [body for bunch in zip(*bodies, strict=False) for body in bunch]
    before, start, sent = _access_reviews(status), loop.time(), 0

    async def connection(offset: int) -> int:
        count = 0
        async with asking(server.port, running.pair.ca) as client:
            while loop.time() - start < seconds:
                await client.ask(flat[(offset + count * _CONNECTIONS) % len(flat)])
                count += 1
        return count

    sent = sum(await asyncio.gather(*map(connection, range(_CONNECTIONS))))
    took = loop.time() - start
    return sent / took, (_access_reviews(status) - before) / took


def _access_reviews(status: int) -> float:
    return access_reviews(ask_status(status, "/metrics")[1])


def access_reviews(metrics: str) -> float:
    """Return how many access reviews a gate has put to the cluster."""
    asked = (line for line in metrics.splitlines() if line.startswith(_METRIC))
    return sum(float(line.rsplit(" ", 1)[1]) for line in asked)


def _run(running: Rig, profiles: int, size: int) -> Result:
    folder = running.folder / f"apiserver-{profiles}"
    folder.mkdir()
    apiserver = ApiServer(folder)
    try:
        asyncio.run(_prepare(apiserver, profiles - 1))
        status = free_port()
        where = ("--kubeconfig", apiserver.kubeconfig())
        own = {"SALLYPORT_STATUS__PORT": str(status)}
        server = running.gate(f"profiles-{profiles}", own, where)
        _wait_until_ready(status)
        return asyncio.run(_measure(running, server, status, profiles, size))
    finally:
        apiserver.stop()


def _wait_until_ready(status: int) -> None:
    end = time.monotonic() + _STARTING_S
    while not is_ready(status):
        if time.monotonic() > end:
            raise SystemExit(f"the gate is not ready after {_STARTING_S:g} s")
        time.sleep(0.1)


async def _prepare(apiserver: ApiServer, teams: int) -> None:
    async with connect(apiserver) as client:
        await install(client, teams)


def _report(few: Result, many: Result) -> list[str]:
    lines = [
        "",
        f"| A Pod that … | median: {FEW} → {MANY} | slowest review: {FEW} → {MANY} | "
        f"slowest with {MANY} / median with {FEW} | first review, p50: {FEW} → {MANY} | "
        f"access reviews for it: {FEW} → {MANY} |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for sort in SORTS:
        what = sort.what
        base, slowest = statistics.median(few.again[what]), max(many.again[what])
        lines.append(
            f"| {what} | {base:.2f} → {statistics.median(many.again[what]):.2f} ms | "
            f"{max(few.again[what]):.2f} → {slowest:.2f} ms | {slowest / base:.2f} | "
            f"{statistics.median(few.first[what]):.1f} → "
            f"{statistics.median(many.first[what]):.1f} ms | {few.asked[what]:.1f} → "
            f"{many.asked[what]:.1f} |"
        )
    worst = max(
        max(many.again[sort.what]) / statistics.median(few.again[sort.what]) for sort in SORTS
    )
    verdict = "holds" if worst <= 2 else "DOES NOT HOLD"
    return [
        *lines,
        "",
        f"- No review slower than twice the median with {FEW} profiles: **{verdict}** "
        f"({worst:.2f})",
        *(
            f"- {each.profiles} profiles, {_CONNECTIONS} connections, all sorts in turn: "
            f"{each.reviews_per_second:.0f} reviews/s, {each.access_per_second:.0f} access "
            "reviews/s asked of kube-apiserver"
            for each in (few, many)
        ),
    ]


def main() -> None:
    """Measure, and print or write docs/evidence/many-profiles.md."""
    parser = argparse.ArgumentParser(prog="make bench-profiles", description=__doc__)
    parser.add_argument(
        "--subjects", type=int, default=SUBJECTS, help="whose first review is timed"
    )
    parser.add_argument(
        "--record", action="store_true", help="write docs/evidence/many-profiles.md"
    )
    options = parser.parse_args()
    # All but the gate runs on the clients' core.
    os.sched_setaffinity(0, {CLIENT_CORE})
    load = os.getloadavg()[0]
    with rig() as running:
        results = [_run(running, count, options.subjects // len(SORTS)) for count in (FEW, MANY)]
    text = [
        f"- A gate on one core, asked by one client over one connection; kube-apiserver, etcd, the "
        f"client and the auditor share the other core (load of the machine before: {load:.2f})",
        "- Access reviews are answered by the RBAC of a real kube-apiserver, in which each team's "
        "group may use its own profile, and everybody pss-restricted",
        f"- Of each sort, {_DIFFERENT} different reviews were asked {_REPEATS} times within the "
        "seconds for which answers are remembered; the time of a review is its median. First "
        f"reviews: {options.subjects} subjects, each once",
        *_report(*results),
    ]
    say("done")
    if options.record:
        record("many-profiles", text)
    print("\n".join(text))


if __name__ == "__main__":
    main()
