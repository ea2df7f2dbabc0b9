"""Labels that policies know Pods by are the gate's alone, and a Pod waits for its namespace."""

from typing import Any

import pytest

from admission.gather import Gatherer
from admission.judge import Judge
from core.decision.decision import Decision, Verdict
from core.decision.namespaces import Mode, Modes
from core.decision.request import Phase, Request
from core.egress.enrolment import Enrolment
from core.people.subject import Subject
from egress.limits.settings import IntentSettings
from identity.subjects import parse_controllers
from policies.engine.embedded_engine import EmbeddedEngine
from tests.unit.admission.counting_cluster import Watched
from tests.unit.admission.egress.labelled_pods import (
    ACCOUNT,
    DUE,
    PATHS,
    WORKLOAD,
    Json,
    held,
    judge,
    labelled,
    told,
)
from tests.unit.admission.world import ALICE, ID, Folder, pod, request

JOBS = Subject("system:serviceaccount:kube-system:job-controller", groups=["system:authenticated"])
NODE = Subject("system:node:n1", groups=["system:nodes", "system:authenticated"])


@pytest.fixture
def cluster(folder: Folder) -> Watched:
    """A cluster with namespaces that are enrolled, and others that are not."""
    return held(folder)


async def final(
    cluster: Watched, engine: EmbeddedEngine, made: Json, subject: Subject = ALICE, **more: Any
) -> Decision:
    """Judge the final state of a new Pod."""
    asked = request(made, subject, phase=Phase.VALIDATING, **more)
    return await judge(cluster, engine).validate(asked, budget=10.0)


async def patched(
    cluster: Watched, engine: EmbeddedEngine, asked: Request
) -> list[tuple[str, object]]:
    """Return what the mutating pass sets among labels."""
    decision = await judge(cluster, engine).mutate(asked, budget=10.0)
    assert decision.allowed
    return [
        (each["path"], each["value"])
        for each in decision.filled
        if each["path"].startswith("/metadata/labels")
    ]


async def test_a_new_pod_gets_its_labels(engine: EmbeddedEngine, cluster: Watched) -> None:
    """Its service account's, and `none` where no controller made it; over what stands there."""
    assert await patched(cluster, engine, request(labelled())) == [("/metadata/labels", DUE)]
    wrong = labelled({"app": "x", ACCOUNT: "other", WORKLOAD: "none"})
    assert await patched(cluster, engine, request(wrong)) == [
        ("/metadata/labels/egress.sallyport.dev~1service-account", "trainer")
    ]
    assert await patched(cluster, engine, request(labelled(dict(DUE)))) == []
    without = pod()
    assert await patched(cluster, engine, request(without)) == [
        ("/metadata/labels", {ACCOUNT: "default", WORKLOAD: "none"})
    ]


async def test_a_controllers_pod_gets_the_workload_that_it_is_traced_to(
    engine: EmbeddedEngine, cluster: Watched
) -> None:
    """By UID, and only where the controller of the owner's kind made it."""
    made = labelled(made=pod(owner=("batch/v1", "Job"), serviceAccountName="trainer"))
    made["metadata"]["ownerReferences"][0] |= {"name": "fetch", "controller": True}
    for subject, workload in ((JOBS, "Job.fetch"), (ALICE, "none")):
        due = {ACCOUNT: "trainer", WORKLOAD: workload}
        assert await patched(cluster, engine, request(made, subject)) == [("/metadata/labels", due)]
        decision = await final(cluster, engine, labelled(due, made), subject)
        assert not [each for each in told(decision) if each[0] == "egress/labels"]
    decision = await final(cluster, engine, labelled(dict(DUE), made), JOBS)
    assert ("egress/labels", PATHS[1]) in told(decision)


async def test_a_namespace_that_is_not_enrolled_sets_none(
    engine: EmbeddedEngine, cluster: Watched
) -> None:
    """No Pod gets a patch there, nor in a file, and nobody is asked whether it is closed."""
    cluster.closes = frozenset()
    for place in ("web", "plain"):
        assert await patched(cluster, engine, request(labelled(), namespace=place)) == []
        decision = await final(cluster, engine, labelled({"app": "x"}), namespace=place)
        assert decision.verdict is Verdict.ALLOW


async def test_an_audited_namespace_labels_its_pods_and_refuses_none(
    engine: EmbeddedEngine, cluster: Watched
) -> None:
    """Nobody waits for a policy there; of labels only a wrong one is refused, not a missing one."""
    cluster.closes = frozenset()
    asked = request(labelled(), namespace="audited")
    assert await patched(cluster, engine, asked) == [("/metadata/labels", DUE)]
    for labels in (dict(DUE), None, {"app": "x"}):
        decision = await final(cluster, engine, labelled(labels), namespace="audited")
        assert decision.verdict is Verdict.ALLOW
    for wrong in (DUE | {ACCOUNT: "other"}, DUE | {"egress.sallyport.dev/more": "x"}):
        decision = await final(cluster, engine, labelled(wrong), namespace="audited")
        assert decision.verdict is Verdict.DENY


async def test_a_workload_that_is_closed_needs_its_labels(
    engine: EmbeddedEngine, cluster: Watched
) -> None:
    """Without them the policy that closes the workload would not hold the Pod."""
    made = labelled(made=pod(owner=("batch/v1", "Job"), serviceAccountName="trainer"))
    made["metadata"]["ownerReferences"][0] |= {"name": "fetch", "controller": True}
    due = {ACCOUNT: "trainer", WORKLOAD: "Job.fetch"}
    for labels, verdict in ((due, Verdict.ALLOW), (None, Verdict.DENY)):
        item = labelled(labels, made)
        decision = await final(cluster, engine, item, JOBS, namespace="audited")
        assert decision.verdict is verdict


async def test_without_the_label_the_installation_decides(
    engine: EmbeddedEngine, cluster: Watched
) -> None:
    """All but those that it leaves out are enrolled where `egress.default` says so."""
    settings = IntentSettings(enrolment=Enrolment(default=True, excluded=frozenset({"own"})))
    for place, wanted in (("plain", 1), ("web", 0), ("own", 0)):
        asked = request(labelled(), namespace=place)
        decision = await judge(cluster, engine, settings).mutate(asked, budget=10.0)
        assert len(decision.filled) == wanted


async def test_exactly_what_is_due_is_admitted(engine: EmbeddedEngine, cluster: Watched) -> None:
    """Both labels, to the letter, and none besides."""
    assert (await final(cluster, engine, labelled(DUE | {"a": "b"}))).verdict is Verdict.ALLOW
    for labels, paths in (
        (None, PATHS),
        ({"app": "x"}, PATHS),
        ({ACCOUNT: "trainer"}, PATHS[1:]),
        (DUE | {ACCOUNT: "other"}, PATHS[:1]),
        (DUE | {WORKLOAD: "Job.fetch"}, PATHS[1:]),
        (
            DUE | {"egress.sallyport.dev/more": "x"},
            ["metadata.labels[egress.sallyport.dev/more]"],
        ),
    ):
        decision = await final(cluster, engine, labelled(labels))
        assert told(decision) == [("egress/labels", path) for path in paths]
        assert (decision.verdict, decision.allowed) == (Verdict.DENY, False)


@pytest.mark.parametrize("place", ["web", "plain"])
@pytest.mark.parametrize("phase", [Phase.VALIDATING, None])
async def test_nobody_sets_them_elsewhere(
    engine: EmbeddedEngine, cluster: Watched, place: str, phase: Phase | None
) -> None:
    """Nor in a file that is read: they would count once the namespace is enrolled."""
    asked = request(labelled(dict(DUE)), namespace=place, phase=phase)
    decision = await judge(cluster, engine).validate(asked, budget=10.0)
    assert told(decision) == [("egress/labels", path) for path in PATHS]


async def test_the_mode_of_a_namespace_does_not_matter(
    engine: EmbeddedEngine, cluster: Watched
) -> None:
    """Where policies only warn, labels are refused all the same; what else is wrong only warns."""
    wrong = labelled(made=pod(serviceAccountName="trainer", hostNetwork=True))
    assert (await final(cluster, engine, wrong, namespace="lax")).allowed is False
    decision = await final(cluster, engine, labelled(dict(DUE), wrong), namespace="lax")
    assert (decision.allowed, decision.verdict) == (True, Verdict.WARN)
    decision = await final(cluster, engine, wrong, namespace="lax")
    assert [each.rule for each in decision.findings if each.action.value == "deny"] == [
        "egress/labels",
        "egress/labels",
    ]
    assert "hostNetwork" not in decision.message
    assert decision.warnings == []


async def test_what_cannot_be_judged_is_refused_where_labels_count(
    engine: EmbeddedEngine, cluster: Watched
) -> None:
    """Else an error would let in a Pod with labels that nobody looked at, where it only warns."""
    cluster.lost = "profiles"
    decision = await final(cluster, engine, labelled(), namespace="lax")
    assert (decision.verdict, decision.allowed) == (Verdict.ERROR, False)
    warns = Judge(
        Gatherer(cluster, engine, parse_controllers(())), Modes(default=Mode.WARN), lambda: ID
    )
    for made, allowed in (
        (labelled({"a": "b"}), True),
        (labelled(dict(DUE)), False),
        ({"metadata": "x"}, False),
        (None, False),
    ):
        asked = request(made, namespace="plain", phase=Phase.VALIDATING)
        assert (await warns.validate(asked, budget=10.0)).allowed is allowed


async def test_a_static_pod_that_a_node_shows_has_none(
    engine: EmbeddedEngine, cluster: Watched
) -> None:
    """It runs already and stays as it is: without labels nothing is open to it."""
    made = pod(annotations={"kubernetes.io/config.mirror": "x"})
    assert await patched(cluster, engine, request(made, NODE)) == []
    assert (await final(cluster, engine, made, NODE)).allowed is True
    decision = await final(cluster, engine, labelled({ACCOUNT: "x"}, made), NODE)
    assert told(decision) == [("egress/labels", PATHS[0])]


async def test_a_pod_waits_until_its_namespace_is_closed(
    engine: EmbeddedEngine, cluster: Watched
) -> None:
    """It is refused with the hint to try again, in whatever mode the namespace is."""
    cluster.closes = frozenset()
    for place in ("train", "lax"):
        decision = await final(cluster, engine, labelled(dict(DUE)), namespace=place)
        assert told(decision) == [("egress/default-deny", "metadata.namespace")]
        assert (decision.verdict, decision.allowed) == (Verdict.DENY, False)
    assert "try again." in decision.message.splitlines()[0]
    mutated = await judge(cluster, engine).mutate(request(labelled()), budget=10.0)
    assert mutated.verdict is Verdict.ALLOW


async def test_not_to_know_whether_it_is_closed_is_an_error(
    engine: EmbeddedEngine, cluster: Watched
) -> None:
    """Told apart from a denial, and refused even where policies only warn."""
    cluster.lost = "default-denies"
    for place in ("train", "lax"):
        decision = await final(cluster, engine, labelled(dict(DUE)), namespace=place)
        assert (decision.verdict, decision.allowed, decision.error_kind) == (
            Verdict.ERROR,
            False,
            "not-synced",
        )
    assert (await final(cluster, engine, labelled(), namespace="web")).verdict is Verdict.ALLOW
