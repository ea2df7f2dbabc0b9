"""Exceptions that a cluster wrote down take needs away, and name themselves in the decision."""

import datetime as dt
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from admission.approvals.exceptions import find_naming
from admission.gather import Gatherer
from admission.judge import Judge
from core.approvals.approvals import account_of
from core.approvals.exceptions import PolicyException, parse_exception
from core.base.names import API_VERSION
from core.decision.decision import Decision, Verdict
from core.decision.document import DecisionSource, build_document
from core.decision.request import Kind
from core.decision.requester_notes import RootWorkload
from core.people.subject import Subject
from core.people.two_person import person_of, write_person
from identity.subjects import Controllers
from policies.engine.embedded_engine import EmbeddedEngine
from tests.unit.admission.counting_cluster import Watched
from tests.unit.admission.world import (
    ALICE,
    BOB,
    Folder,
    pod,
    raw,
    request,
)

AUTHOR = Subject("author@example.com")
ANN = Subject("ann@example.com")
BEN = Subject("ben@example.com")
NOW = dt.datetime(2026, 6, 1, tzinfo=dt.UTC).timestamp()
END = "2026-06-01T01:00:00Z"
HOUR = 3600.0
NAME = "llama-0"


def written(**spec: Any) -> dict[str, Any]:
    """Return an exception of the Pod llama-0 as a cluster holds it."""
    fields: dict[str, Any] = {
        "workloads": [{"apiVersion": "v1", "kind": "Pod", "name": NAME}],
        "excuses": [{"privilege": "host/network"}],
        "reason": "it must",
        "expiresAt": END,
    }
    return {
        "apiVersion": API_VERSION,
        "kind": "PolicyException",
        "metadata": {
            "name": "net",
            "namespace": "train",
            "uid": "uid-1",
            "annotations": {"sallyport.dev/author": write_person(person_of(AUTHOR))},
        },
        "spec": fields | spec,
    }


def approved(item: dict[str, Any], who: Subject, **metadata: Any) -> dict[str, Any]:
    """Return an approval of an exception as a cluster holds it."""
    exception = parse_exception(raw(item))
    annotations = {
        "sallyport.dev/approver-account": msgspec.json.encode(account_of(who)).decode(),
        "sallyport.dev/approved-uid": exception.meta.uid,
        "sallyport.dev/approved-digest": exception.approvable.digest,
    }
    name = who.username.partition("@")[0]
    return {
        "apiVersion": API_VERSION,
        "kind": "Approval",
        "metadata": {"name": name, "namespace": "train", "uid": f"of-{name}"}
        | {"annotations": annotations}
        | metadata,
        "spec": {
            "for": {
                "kind": "PolicyException",
                "name": "net",
                "uid": exception.meta.uid,
                "digest": exception.approvable.digest,
            },
            "expiresAt": END,
        },
    }


@pytest.fixture
def world(folder: Folder) -> Callable[..., Watched]:
    """A cluster in which Alice may use pss-restricted, Ann and Ben approve; and more objects."""
    folder.namespace("train", mode="enforce")
    folder.grant(f"User:{ALICE.username}", "pss-restricted", namespace="train")
    for who in (ANN, BEN):
        folder.grant(f"User:{who.username}", "exceptions", verb="approve", resource="approvaltiers")

    def make(*items: dict[str, Any]) -> Watched:
        folder.documents.extend(items)
        return Watched(folder.cluster())

    return make


async def decide(
    cluster: Watched, engine: EmbeddedEngine, made: dict[str, Any], now: float = NOW
) -> Decision:
    """Judge a Pod of Alice's at a time."""
    judge = Judge(Gatherer(cluster, engine, Controllers(), clock=lambda: now))
    return await judge.validate(request(made), budget=10)


ON_HOST = pod(hostNetwork=True)


async def test_in_force_it_admits_and_is_named(
    engine: EmbeddedEngine, world: Callable[..., Watched]
) -> None:
    """The decision says by which exception, and keeps all that was needed."""
    item = written()
    cluster = world(item, approved(item, ANN), approved(item, BEN))
    decision = await decide(cluster, engine, ON_HOST)
    assert (decision.verdict, decision.profile) == (Verdict.ALLOW, "pss-restricted")
    assert decision.evidence.exceptions == ("net@uid-1",)
    assert "host/network" in {need.privilege for need in decision.evidence.needs}
    source: DecisionSource = "validate"
    document = build_document(
        source,
        request(ON_HOST),
        decision,
        cluster="c",
        seconds=0.0,
        name_subject=lambda s: s.label,
    )
    assert document.exceptions == ["net@uid-1"]


async def test_an_approval_stored_by_an_older_release_counts_until_it_ends(
    engine: EmbeddedEngine, world: Callable[..., Watched]
) -> None:
    """It states neither UID nor digest; the webhook recorded both when it was made."""
    item = written()
    approvals = [approved(item, who) for who in (ANN, BEN)]
    for each in approvals:
        each["spec"]["for"] = {"kind": "PolicyException", "name": "net"}
    assert (await decide(world(item, *approvals), engine, ON_HOST)).verdict is Verdict.ALLOW


@pytest.mark.parametrize("approvers", [(), (ANN,), (ANN, AUTHOR), (ANN, BOB)], ids=str)
async def test_without_two_approvers_it_is_nothing(
    engine: EmbeddedEngine, world: Callable[..., Watched], approvers: tuple[Subject, ...]
) -> None:
    """Nobody, one, the author, somebody without the right: refused as if it were not there."""
    item = written()
    decision = await decide(
        world(item, *(approved(item, who) for who in approvers)), engine, ON_HOST
    )
    assert decision.verdict is Verdict.DENY
    assert decision.evidence.exceptions == ()


@pytest.mark.parametrize(
    ("approvers", "seconds", "why"),
    [
        ((ANN,), 0.0, "1 of 2 people have approved it as it is"),
        ((ANN, BEN), HOUR, "it has expired"),
    ],
    ids=str,
)
async def test_a_refusal_names_the_exception_that_is_not_in_force(
    engine: EmbeddedEngine,
    world: Callable[..., Watched],
    approvers: tuple[Subject, ...],
    seconds: float,
    why: str,
) -> None:
    """And why it is not; one that would not help is not spoken of."""
    item = written()
    cluster = world(item, *(approved(item, who) for who in approvers))
    decision = await decide(cluster, engine, ON_HOST, NOW + seconds)
    said = f"PolicyException net names it, but is not in force: {why}."
    assert said in decision.message
    other = await decide(cluster, engine, pod(hostPID=True), NOW + seconds)
    assert "PolicyException" not in other.message


@pytest.mark.parametrize(
    ("seconds", "verdict"), [(HOUR - 0.001, Verdict.ALLOW), (HOUR, Verdict.DENY)]
)
async def test_exception_ends_at_the_second_of_its_expiry(
    engine: EmbeddedEngine, world: Callable[..., Watched], seconds: float, verdict: Verdict
) -> None:
    """By the clock of who judges."""
    item = written()
    cluster = world(item, approved(item, ANN), approved(item, BEN))
    decision = await decide(cluster, engine, ON_HOST, NOW + seconds)
    assert decision.verdict is verdict


async def test_what_is_admitted_without_it_does_not_ask(
    engine: EmbeddedEngine, world: Callable[..., Watched]
) -> None:
    """No approver's right is asked for a Pod that needs no exception; none is named."""
    item = written()
    cluster = world(item, approved(item, ANN), approved(item, BEN))
    decision = await decide(cluster, engine, pod())
    assert decision.verdict is Verdict.ALLOW
    assert decision.evidence.exceptions == ()
    assert {who for who, _, _ in cluster.asked} == {ALICE.username}


async def test_what_is_left_is_refused_alone(
    engine: EmbeddedEngine, world: Callable[..., Watched]
) -> None:
    """The refusal names what no exception excuses, and the record which one was used."""
    item = written()
    cluster = world(item, approved(item, ANN), approved(item, BEN))
    decision = await decide(cluster, engine, pod(hostNetwork=True, hostPID=True))
    assert [finding.privilege for finding in decision.findings] == ["host/pid"]
    assert decision.evidence.exceptions == ("net@uid-1",)


async def test_a_containers_need_is_excused_by_its_name_alone(
    engine: EmbeddedEngine, world: Callable[..., Watched]
) -> None:
    """The Pod's own entry does not excuse a container, nor does another container's."""
    privilege = "capability/NET_ADMIN"
    made = pod(add=["NET_ADMIN"])
    verdicts = []
    for index, container in enumerate((None, "other", "trainer")):
        entry = {"privilege": privilege} | ({"container": container} if container else {})
        item = written(excuses=[entry])
        item["metadata"] |= {"name": f"net-{index}", "uid": f"uid-{index}"}
        consents = [approved(item, ANN), approved(item, BEN)]
        for consent in consents:
            consent["metadata"]["name"] += str(index)
        verdicts.append((await decide(world(item, *consents), engine, made)).verdict)
    assert verdicts == [Verdict.DENY, Verdict.DENY, Verdict.ALLOW]


def _deployment() -> PolicyException:
    workload = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "llama"}
    return parse_exception(raw(written(workloads=[workload])))


@pytest.mark.parametrize(
    ("root", "named"),
    [
        (RootWorkload("Deployment", "llama", "u", group="apps", straight=True), True),
        (RootWorkload("Deployment", "llama", "u", group="apps"), False),
        (RootWorkload("Deployment", "llama-2", "u", group="apps", straight=True), False),
        (RootWorkload("Deployment", "llama", "u", group="example.com", straight=True), False),
        (RootWorkload("StatefulSet", "llama", "u", group="apps", straight=True), False),
        (None, False),
    ],
)
def test_a_pod_is_meant_by_its_root(root: RootWorkload | None, named: bool) -> None:  # noqa: FBT001
    """By group, kind and name; not where somebody else is noted on the way to it."""
    assert bool(find_naming([_deployment()], request(pod(), name="llama-x"), root)) is named


@pytest.mark.parametrize(
    ("kind", "name", "named"),
    [
        (Kind("Deployment", "v1", "apps"), "llama", True),
        (Kind("Deployment", "v1beta1", "apps"), "llama", False),
        (Kind("Deployment", "v1", "apps"), "", False),
        (Kind("Deployment", "v1"), "llama", False),
    ],
)
def test_a_workload_is_meant_in_its_version(kind: Kind, name: str, named: bool) -> None:  # noqa: FBT001
    """What is submitted in another version, or has no name yet, is not named."""
    assert bool(find_naming([_deployment()], request(pod(), kind=kind, name=name), None)) is named
