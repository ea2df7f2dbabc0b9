"""Many profiles and subjects, as a large site has them, against a real kube-apiserver.

Each team has a ContainerProfile that its group may use. Reviews of the teams' members are sent
straight to a gate whose access reviews are answered by kube-apiserver's own RBAC.
"""

import argparse
import asyncio
import json
import os
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from bench.load import ReviewClient, review_client
from bench.reviews import USUAL
from bench.server_rig import CLIENT_CORE, Rig, Server, free_port, print_progress, rig, stage_cluster
from tests.harness.evidence import ROOT, record
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.client import Client, connect, read_objects
from tests.harness.programs.status import ask as ask_status
from tests.harness.programs.status import is_ready
from tests.harness.worlds.rbac import grant, group, use_of

Json = dict[str, Any]

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

SHARING: Final = 30
"""Every so many-th profile covers the capability SYS_NICE."""


def team_profile(number: int) -> Json:
    """Return the profile of one team.

    What everybody may have, its own folder and port, and more.
    """
    privileges = [
        f"volume/hostPath:ro/teams/{number}/**",
        f"host/port/{10_000 + number}",
        f"sysctl/net.team{number}",
    ]
    if number % SHARING == 0:
        privileges.append("capability/SYS_NICE")
    return {
        "apiVersion": "sallyport.dev/v1alpha1",
        "kind": "ContainerProfile",
        "metadata": {"name": team_name(number)},
        "spec": {
            "rank": 500,
            "catalogue": 2,
            "includes": ["pss-restricted"],
            "privileges": privileges,
        },
    }


def team_name(number: int) -> str:
    """Return the name of a team's profile."""
    return f"team-{number:03d}"


def team_objects(count: int) -> Iterator[Json]:
    """Yield the profiles of so many teams, and for each the right of its group."""
    for number in range(count):
        yield team_profile(number)
        yield from grant(
            f"use-{team_name(number)}", use_of(team_name(number)), group(team_name(number))
        )


def write_cluster(count: int, folder: Path) -> Path:
    """Write the example cluster with so many profiles more into `folder`; give the folder."""
    stage_cluster(folder)
    documents = map(json.dumps, team_objects(count))
    (folder / "teams.yaml").write_text("\n---\n".join(documents))
    return folder


@dataclass(frozen=True)
class ReviewSort:
    """One sort of review, and how much it asks."""

    what: str
    change: Callable[[Json, int], None]
    """Makes the Pod of a team's member."""
    allowed: bool


def _plain(_pod: Json, _team: int) -> None:
    """Change nothing: everybody may use the first profile that covers it."""


def _own_folder(pod: Json, team: int) -> None:
    volume = {"name": "team", "hostPath": {"path": f"/teams/{team}/data"}}
    pod["spec"]["volumes"].append(volume)
    mount = {"name": "team", "mountPath": "/team", "readOnly": True}
    pod["spec"]["containers"][0]["volumeMounts"].append(mount)


def _shared_capability(pod: Json, _team: int) -> None:
    context = pod["spec"]["containers"][0]["securityContext"]
    context = {**context, "capabilities": {"drop": ["ALL"], "add": ["SYS_NICE"]}}
    pod["spec"]["containers"][0]["securityContext"] = context


def _nobodys(pod: Json, _team: int) -> None:
    pod["spec"]["hostNetwork"] = True


SORTS: Final = (
    ReviewSort("needs what everybody has", _plain, allowed=True),
    ReviewSort("needs what its own team's profile has", _own_folder, allowed=True),
    ReviewSort(f"needs what one profile in {SHARING} has", _shared_capability, allowed=True),
    ReviewSort("is refused", _nobodys, allowed=False),
)


@dataclass(frozen=True)
class TeamReviews:
    """Makes the reviews of the members of so many teams."""

    teams: int

    def make(self, sort: ReviewSort, subject: int) -> bytes:
        """Return the review of one subject's Pod; its team is its number modulo the teams."""
        review = json.loads(USUAL.review(0))
        team = self.team(sort, subject)
        request = review["request"]
        user = {"username": f"user-{subject}@example.com"}
        request["userInfo"] = {**user, "groups": [team_name(team), "system:authenticated"]}
        sort.change(request["object"], team)
        return json.dumps(review, separators=(",", ":")).encode()

    def team(self, sort: ReviewSort, subject: int) -> int:
        """Return the team of a subject: for a shared privilege, one that has it."""
        team = subject % self.teams
        return team // SHARING * SHARING if sort.change is _shared_capability else team


@dataclass(frozen=True)
class ProfileCosts:
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


async def _measure(
    running: Rig, server: Server, status: int, profiles: int, size: int
) -> ProfileCosts:
    reviews = TeamReviews(profiles - 1)  # And pss-restricted, which everybody may use.
    ca = running.pair.ca
    again: dict[str, list[float]] = {}
    first: dict[str, list[float]] = {}
    asked: dict[str, float] = {}
    async with review_client(server.port, ca) as client:
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
    return ProfileCosts(profiles, again, first, asked, rate, access)


async def _timed(client: ReviewClient, sort: ReviewSort, review: bytes) -> float:
    seconds, answer = await client.ask(review)
    if (b'"allowed":true' in answer) is not sort.allowed:
        raise SystemExit(f"unexpected answer to what {sort.what}: {answer.decode()[:1500]}")
    return 1000 * seconds


async def _again(client: ReviewClient, sort: ReviewSort, reviews: Sequence[bytes]) -> list[float]:
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
    running: Rig, server: Server, status: int, reviews: TeamReviews, seconds: float = 10.0
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
        async with review_client(server.port, running.pair.ca) as client:
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
    """Return the number of access reviews that a gate has put to the cluster."""
    asked = (line for line in metrics.splitlines() if line.startswith(_METRIC))
    return sum(float(line.rsplit(" ", 1)[1]) for line in asked)


def _run(running: Rig, profiles: int, size: int) -> ProfileCosts:
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


def _report(few: ProfileCosts, many: ProfileCosts) -> list[str]:
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


def main(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> None:
    """Measure, and print or write docs/evidence/many-profiles.md."""
    parser.add_argument(
        "--subjects", type=int, default=SUBJECTS, help="whose first review is timed"
    )
    parser.add_argument(
        "--record", action="store_true", help="write docs/evidence/many-profiles.md"
    )
    options = parser.parse_args(arguments)
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
    print_progress("done")
    if options.record:
        record("many-profiles", text)
    print("\n".join(text))
