"""An open BreakGlass turns refusals into warnings: those that it names, where it says, loudly."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from admission.gather import Gatherer
from admission.judge import Judge
from core.approvals.approvals import CLUSTER_KIND, account_of
from core.approvals.break_glass import parse_break_glass
from core.approvals.break_glass_egress import egress_opening
from core.base.names import API_VERSION
from core.decision.decision import Action, Decision, Verdict
from core.decision.document import build_document
from core.decision.request import Kind, Request
from core.people.subject import Subject
from core.people.two_person import person_of, write_person
from identity.subjects import Controllers
from policies.engine.embedded_engine import EmbeddedEngine
from tests.unit.admission.approvals.test_exceptions import ANN, AUTHOR, BEN, END, NOW, ON_HOST
from tests.unit.admission.counting_cluster import Watched
from tests.unit.admission.world import ALICE, BOB, Folder, pod, raw, request

NOBODY = Subject("nobody@example.com")
"""Someone who may use no profile."""

HOUR = 3600.0
BEGAN = "2026-05-31T23:30:00Z"
"""Half an hour before `NOW`."""


def sealed(began: str = BEGAN, **spec: Any) -> dict[str, Any]:
    """Return a BreakGlass as a cluster holds it; open, unless `began` is empty."""
    annotations = {"sallyport.dev/author": write_person(person_of(AUTHOR))}
    if began:
        annotations["sallyport.dev/activated-at"] = began
    fields = {"namespaces": ["train"], "hours": 1, "reason": "the fabric is down"}
    what = {} if {"rules", "privileges", "egress"} & spec.keys() else {"rules": ["*"]}
    return {
        "apiVersion": API_VERSION,
        "kind": "BreakGlass",
        "metadata": {"name": "fire", "uid": "uid-1", "annotations": annotations},
        "spec": fields | what | spec | ({"activated": True} if began else {}),
    }


def consent(item: dict[str, Any], who: Subject, **metadata: Any) -> dict[str, Any]:
    """Return an approval of a BreakGlass as a cluster holds it."""
    what = parse_break_glass(raw(item))
    name = who.username.partition("@")[0]
    annotations = {
        "sallyport.dev/approver-account": msgspec.json.encode(account_of(who)).decode(),
        "sallyport.dev/approved-uid": what.meta.uid,
        "sallyport.dev/approved-digest": what.approvable.digest,
    }
    return {
        "apiVersion": API_VERSION,
        "kind": CLUSTER_KIND,
        "metadata": {"name": name, "uid": f"of-{name}", "annotations": annotations} | metadata,
        "spec": {"for": {"kind": "BreakGlass", "name": "fire"}, "expiresAt": END},
    }


@pytest.fixture
def world(folder: Folder) -> Callable[..., Watched]:
    """A cluster in which Alice may use pss-restricted, Ann and Ben approve; and more objects."""
    for namespace in ("train", "other"):
        folder.namespace(namespace, mode="enforce")
        folder.grant(f"User:{ALICE.username}", "pss-restricted", namespace=namespace)
    for who in (ANN, BEN):
        folder.grant(
            f"User:{who.username}", "break-glass", verb="approve", resource="approvaltiers"
        )

    def make(*items: dict[str, Any]) -> Watched:
        kept = list(folder.documents)
        folder.documents.extend(items)
        cluster = Watched(folder.cluster())
        folder.documents[:] = kept
        return cluster

    return make


async def decide(
    cluster: Watched, engine: EmbeddedEngine, asked: Request, now: float = NOW
) -> Decision:
    """Judge a request at a time."""
    judge = Judge(Gatherer(cluster, engine, Controllers(), clock=lambda: now))
    return await judge.validate(asked, budget=10)


def opened(**spec: Any) -> list[dict[str, Any]]:
    """Return an open BreakGlass that Ann and Ben approved."""
    item = sealed(**spec)
    return [item, consent(item, ANN), consent(item, BEN)]


async def test_what_it_relaxes_is_admitted_loudly(
    engine: EmbeddedEngine, world: Callable[..., Watched]
) -> None:
    """Allowed with warnings that name it; decision, finding and document name it too."""
    decision = await decide(world(*opened()), engine, request(ON_HOST))
    assert (decision.verdict, decision.allowed, decision.profile) == (Verdict.WARN, True, None)
    assert {finding.action for finding in decision.findings} == {Action.WARN}
    assert decision.findings[0].rule == "break-glass/relaxed"
    assert "BREAK GLASS: fire" in decision.warnings[0]
    assert "2026-06-01T00:30:00Z" in decision.warnings[0]
    document = build_document(
        "validate",
        request(ON_HOST),
        decision,
        cluster="c",
        seconds=0.0,
        name_subject=lambda s: s.label,
    )
    assert document.break_glass == ["fire@uid-1"]


async def test_what_is_admitted_anyway_does_not_name_it(
    engine: EmbeddedEngine, world: Callable[..., Watched]
) -> None:
    """Nobody's right to approve is asked for it either."""
    cluster = world(*opened())
    decision = await decide(cluster, engine, request(pod()))
    assert (decision.verdict, decision.evidence.break_glass) == (Verdict.ALLOW, ())
    assert {who for who, _, _ in cluster.asked} == {ALICE.username}


@pytest.mark.parametrize("approvers", [(), (ANN,), (ANN, AUTHOR), (ANN, BOB)], ids=str)
async def test_without_two_approvers_it_is_nothing(
    engine: EmbeddedEngine, world: Callable[..., Watched], approvers: tuple[Subject, ...]
) -> None:
    """Even where something says that it was activated."""
    item = sealed()
    cluster = world(item, *(consent(item, who) for who in approvers))
    decision = await decide(cluster, engine, request(ON_HOST))
    assert (decision.verdict, decision.evidence.break_glass) == (Verdict.DENY, ())


@pytest.mark.parametrize(
    ("seconds", "verdict"),
    [
        (-HOUR / 2 - 1, Verdict.DENY),
        (-HOUR / 2, Verdict.WARN),
        (HOUR / 2 - 0.001, Verdict.WARN),
        (HOUR / 2, Verdict.DENY),
    ],
)
async def test_it_lasts_its_hours_to_the_second(
    engine: EmbeddedEngine, world: Callable[..., Watched], seconds: float, verdict: Verdict
) -> None:
    """From its activation, by the clock of who judges."""
    decision = await decide(world(*opened()), engine, request(ON_HOST), NOW + seconds)
    assert decision.verdict is verdict


@pytest.mark.parametrize(
    ("spec", "verdict"),
    [
        ({"privileges": ["host/network"]}, Verdict.WARN),
        ({"privileges": ["host/*"]}, Verdict.WARN),
        ({"rules": ["privileges/host/network"]}, Verdict.WARN),
        ({"privileges": ["host/pid"]}, Verdict.DENY),
        ({"rules": ["privileges/host/namespaces"]}, Verdict.DENY),
        ({"rules": ["rules/runtime/annotations"]}, Verdict.DENY),
        ({"namespaces": ["other"]}, Verdict.DENY),
        ({"began": ""}, Verdict.DENY),
    ],
    ids=str,
)
async def test_only_what_it_names_is_relaxed(
    engine: EmbeddedEngine, world: Callable[..., Watched], spec: dict[str, Any], verdict: Verdict
) -> None:
    """By rule, by pattern, in its namespaces, once it is open."""
    decision = await decide(world(*opened(**spec)), engine, request(ON_HOST))
    assert decision.verdict is verdict


async def test_all_that_is_wrong_must_be_relaxed(
    engine: EmbeddedEngine, world: Callable[..., Watched]
) -> None:
    """Else it is refused as if nothing were relaxed, and told so."""
    cluster = world(*opened(privileges=["host/network"]))
    decision = await decide(cluster, engine, request(pod(hostNetwork=True, hostPID=True)))
    assert (decision.verdict, decision.evidence.break_glass) == (Verdict.DENY, ())
    assert {finding.action for finding in decision.findings} == {Action.DENY}
    assert "BreakGlass fire is open" in decision.message


async def test_who_may_use_no_profile_gains_none(
    engine: EmbeddedEngine, world: Callable[..., Watched]
) -> None:
    """One that relaxes a privilege relaxes that alone, not the right to run anything at all."""
    cluster = world(*opened(privileges=["host/network"]))
    assert (await decide(cluster, engine, request(ON_HOST, NOBODY))).verdict is Verdict.DENY
    named = pod(hostNetwork=True, annotations={"sallyport.dev/profile": "pss-baseline"})
    assert (await decide(cluster, engine, request(named))).verdict is Verdict.DENY
    named = pod(hostNetwork=True, annotations={"sallyport.dev/profile": "pss-restricted"})
    assert (await decide(cluster, engine, request(named))).verdict is Verdict.WARN


def _role(kind: str) -> dict[str, Any]:
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": "all", "namespace": "train"},
        "rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}],
    }


async def test_what_would_outlive_it_is_never_relaxed(
    engine: EmbeddedEngine, world: Callable[..., Watched]
) -> None:
    """Rights, the marks of namespaces, and the objects by which people decide."""
    cluster = world(*opened())
    rights = Kind("Role", "v1", "rbac.authorization.k8s.io")
    marked = {"metadata": {"name": "train", "labels": {"sallyport.dev/mode": "audit"}}}
    exception = {
        "apiVersion": API_VERSION,
        "kind": "PolicyException",
        "metadata": {"name": "x", "namespace": "train"},
        "spec": {
            "workloads": [{"apiVersion": "v1", "kind": "Pod", "name": "x"}],
            "excuses": [{"privilege": "host/network"}],
            "reason": "why not",
            "expiresAt": END,
        },
    }
    for made, kind, name in (
        (_role("Role"), rights, "all"),
        (marked, Kind("Namespace", "v1"), "train"),
        (exception, Kind("PolicyException", "v1alpha1", "sallyport.dev"), "x"),
    ):
        asked = request(made, NOBODY, name=name)
        asked = msgspec.structs.replace(asked, kind=kind, namespace="train")
        decision = await decide(cluster, engine, asked)
        assert (decision.verdict, kind.kind) == (Verdict.DENY, kind.kind), decision.message
        assert decision.evidence.break_glass == ()


async def test_what_runs_is_reported_as_it_is(
    engine: EmbeddedEngine, world: Callable[..., Watched]
) -> None:
    """The sweep shows what was let in, also while it is open."""
    asked = msgspec.structs.replace(request(ON_HOST), running=True)
    decision = await decide(world(*opened()), engine, asked)
    assert decision.verdict is Verdict.DENY


@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    began=st.sampled_from([BEGAN, "", "2026-06-01T00:00:01Z", "2026-05-31T22:59:59Z"]),
    people=st.frozensets(st.sampled_from(range(4))),
    changed=st.sampled_from(["", "edited", "deleted"]),
)
async def test_nothing_short_of_all_of_it_relaxes(
    engine: EmbeddedEngine,
    world: Callable[..., Watched],
    began: str,
    people: frozenset[int],
    changed: str,
) -> None:
    """Relaxed if and only if two others approved just this, and now lies within its hours."""
    item = sealed(began)
    consents = [consent(item, (AUTHOR, BOB, ANN, BEN)[index]) for index in sorted(people)]
    if changed == "edited":
        item["spec"]["reason"] = "something else"
    if changed == "deleted":
        item["metadata"]["deletionTimestamp"] = END
    decision = await decide(world(item, *consents), engine, request(ON_HOST))
    right = began == BEGAN and {2, 3} <= people and not changed
    assert (decision.verdict is Verdict.WARN) is right
    assert decision.allowed is right


@pytest.mark.parametrize("egress", [{}, {"workloads": ["Job/fetch"]}])
async def test_egress_alone_relaxes_nothing_that_is_judged(
    engine: EmbeddedEngine, world: Callable[..., Watched], egress: dict[str, Any]
) -> None:
    """It opens connections, and no check becomes a warning."""
    decision = await decide(world(*opened(egress=egress)), engine, request(ON_HOST))
    assert decision.verdict is Verdict.DENY
    parsed = parse_break_glass(raw(sealed(egress=egress)))
    assert not parsed.relaxes("privileges/host/network", ["host/network"])


def test_what_was_approved_has_no_egress() -> None:
    """`*` stands for what it did: its digest, and what it opens, stay as they were."""
    without = parse_break_glass(raw(sealed()))
    beside = parse_break_glass(raw(sealed(egress={})))
    beside_rules = parse_break_glass(raw(sealed(rules=["*"], egress={})))
    assert egress_opening(without) is None
    assert without.approvable.digest != beside_rules.approvable.digest
    found = egress_opening(beside)
    assert found is not None
    assert str(found) == (
        "all Pods connect everywhere but to reserved ranges, by BreakGlass fire until "
        "2026-06-01T00:30:00Z"
    )
