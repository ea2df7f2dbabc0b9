"""How many access reviews a review costs: kube-apiserver pays for each that is not cached."""

import msgspec
import pytest

from core.decision.decision import Verdict
from core.decision.namespaces import Mode
from policies.engine.embedded_engine import EmbeddedEngine
from tests.unit.admission.counting_cluster import Watched
from tests.unit.admission.world import (
    ADMIN,
    ALICE,
    PULLS,
    Folder,
    decide,
    judge_of,
    pod,
    request,
)

ADVICE = 8
JOB = ("batch/v1", "Job")


def asked_of(cluster: Watched) -> list[str]:
    """Return the names of the profiles that were asked about, in order."""
    return [name for _, name, _ in cluster.asked]


async def test_only_covering_profiles_are_asked_about(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """Those that cannot help are not; each for the requester, in the Pod's namespace."""
    for number in range(20):
        folder.profile(f"other-{number:02}", number, "host/pid")
    folder.profile("net", 50, "host/network").grant("Group:researchers", "net")
    cluster = Watched(folder.cluster())
    decision = await decide(cluster, engine, request(pod(hostNetwork=True)))
    assert decision.profile == "net"
    assert cluster.asked == [(ALICE.username, "net", "train")]


async def test_asking_ends_with_the_first_batch_that_holds_a_usable_profile(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """In the order of choice: one, then four, then sixteen at once."""
    for number in range(30):
        folder.profile(f"net-{number:02}", number, "host/network")
    folder.grant("Group:researchers", "net-05", "net-20")
    cluster = Watched(folder.cluster())
    decision = await decide(cluster, engine, request(pod(hostNetwork=True)))
    assert decision.profile == "net-05"
    assert asked_of(cluster) == [f"net-{number:02}" for number in range(1 + 4 + 16)]


async def test_pod_that_needs_nothing_costs_one_question(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """Every profile covers it, and the first may be used by everyone."""
    for number in range(50):
        folder.profile(f"late-{number:02}", 500 + number, "**")
    cluster = Watched(folder.cluster())
    assert (await decide(cluster, engine, request(pod()))).profile == "pss-restricted"
    assert asked_of(cluster) == ["pss-restricted"]


async def test_advice_costs_at_most_eight_more(engine: EmbeddedEngine, folder: Folder) -> None:
    """About the nearest profiles: those with the fewest gaps, then by rank and name."""
    for number in range(300):
        folder.profile(f"p-{number:03}", number, "host/pid" if number % 2 else "host/ipc")
    cluster = Watched(folder.cluster())
    decision = await decide(cluster, engine, request(pod(hostNetwork=True, hostPID=True)))
    assert decision.verdict is Verdict.DENY
    nearest = [f"p-{number:03}" for number in range(1, 2 * ADVICE, 2)]
    assert asked_of(cluster) == ["pss-privileged", *nearest]


@pytest.mark.parametrize("label", ["audit", "enforce"])
async def test_nobody_is_advised_where_nobody_reads_it(
    engine: EmbeddedEngine, folder: Folder, label: str
) -> None:
    """In a namespace that only records, advice is not asked for."""
    folder.namespace("train", mode=label)
    cluster = Watched(folder.cluster())
    await decide(cluster, engine, request(pod(hostNetwork=True)))
    expected = ["pss-privileged"]
    if label == "enforce":
        expected += ["pss-restricted", "pss-baseline"]
    assert asked_of(cluster) == expected


@pytest.mark.parametrize(
    ("name", "expected"), [("net", ["net"]), ("pss-restricted", []), ("gone", [])]
)
async def test_named_profile_is_the_only_one_asked_about(
    engine: EmbeddedEngine, folder: Folder, name: str, expected: list[str]
) -> None:
    """And only where it exists and covers."""
    folder.profile("net", 20, "host/network")
    cluster = Watched(folder.cluster())
    made = pod(annotations={"sallyport.dev/profile": name}, hostNetwork=True)
    await decide(cluster, engine, request(made))
    assert asked_of(cluster) == expected


async def test_asked_profile_costs_nothing(engine: EmbeddedEngine, folder: Folder) -> None:
    """`--profile` answers whoever asks."""
    cluster = Watched(folder.cluster())
    await decide(cluster, engine, request(pod(), asked_profile="pss-baseline"))
    assert cluster.asked == []


async def test_examining_asks_nobody(engine: EmbeddedEngine, folder: Folder) -> None:
    """What an object needs is no question of rights, of a namespace or of its being known."""
    cluster = Watched(folder.cluster(), lost="namespaces")
    judge = judge_of(cluster, engine)
    made = request(pod(hostNetwork=True))
    decision = await judge.examine(made, Mode.ENFORCE, budget=10.0)
    assert {need.privilege for need in decision.evidence.needs} == {PULLS, "host/network"}
    by_one = msgspec.structs.replace(made, asked_profile="pss-privileged")
    assert (await judge.examine(by_one, Mode.ENFORCE, budget=10.0)).verdict is Verdict.ALLOW
    broken = request(pod(hostNetwork="yes"))
    assert (await judge.examine(broken, Mode.ENFORCE, budget=10.0)).verdict is Verdict.ERROR
    assert cluster.asked == []


async def test_profiles_outside_the_ceiling_are_not_asked_about(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """They could not help."""
    folder.namespace("train", ceiling="pss-baseline")
    cluster = Watched(folder.cluster())
    await decide(cluster, engine, request(pod(hostNetwork=True), ADMIN))
    assert asked_of(cluster) == ["pss-baseline"]


async def test_second_subject_is_asked_about_only_where_the_first_may(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """Both must have the right: one no is enough."""
    folder.profile("net", 20, "host/network").grant("Group:researchers", "net")
    cluster = Watched(folder.cluster())
    await decide(cluster, engine, request(pod(owner=JOB, hostNetwork=True)))
    account = "system:serviceaccount:train:default"
    about = {
        name: {user for user, asked, _ in cluster.asked if asked == name}
        for name in ("net", "pss-privileged")
    }
    assert about == {"net": {ALICE.username, account}, "pss-privileged": {ALICE.username}}


@pytest.mark.parametrize("owner", [None, JOB])
async def test_three_hundred_profiles_have_a_bound(
    engine: EmbeddedEngine, folder: Folder, owner: tuple[str, str] | None
) -> None:
    """At worst each covering profile once, the nearest eight more; each no is one question."""
    folder.documents.clear()
    for number in range(300):
        folder.profile(f"p-{number:03}", number, "host/pid" if number % 3 else "host/network")
    cluster = Watched(folder.cluster())
    decision = await decide(cluster, engine, request(pod(owner=owner, hostNetwork=True)))
    assert decision.verdict is Verdict.DENY
    covering = 100 + 1
    assert len(cluster.asked) == covering + ADVICE
    assert len(set(cluster.asked)) == len(cluster.asked)
