"""Marks that decide how a namespace is guarded change only by who may `exempt` it."""

from typing import Any

import pytest

from core.decision.decision import Action, Decision, Finding, Verdict
from core.decision.request import Operation
from core.people.subject import Subject
from policies.engine.embedded_engine import EmbeddedEngine
from tests.unit.admission.counting_cluster import Watched
from tests.unit.admission.world import (
    ADMIN,
    ALICE,
    BOB,
    ID,
    NAMESPACE,
    Folder,
    decide,
    request,
)

MODE = {"labels": {"sallyport.dev/mode": "audit"}}
ENFORCE = {"labels": {"sallyport.dev/mode": "enforce"}}
CEILING = {"annotations": {"sallyport.dev/ceiling": "a"}}
CONTROL_PLANE = {"labels": {"control-plane": "true"}}
DENY = {"labels": {"sallyport.dev/egress": "deny"}}
AKS = {"labels": {"kubernetes.azure.com/managedby": "aks"}}
PLAIN = {"labels": {"team": "nlp"}, "annotations": {"sallyport.dev/profile": "net"}}

MODE_PATH = "metadata.labels[sallyport.dev/mode]"
CEILING_PATH = "metadata.annotations[sallyport.dev/ceiling]"


@pytest.fixture
def cluster(folder: Folder) -> Watched:
    """A cluster in which Alice may exempt the namespace train, and nothing else."""
    folder.grant(f"User:{ALICE.username}", "train", verb="exempt", resource="namespaces")
    folder.grant("Group:system:authenticated")
    return Watched(folder.cluster())


async def change(
    cluster: Watched,
    engine: EmbeddedEngine,
    metadata: tuple[dict[str, Any] | None, dict[str, Any]],
    subject: Subject = BOB,
    name: str = "train",
) -> Decision:
    """Decide on a namespace that goes from one metadata to another; from None it is created."""
    old, new = (
        {"metadata": {"name": name} | given} if given is not None else None for given in metadata
    )
    operation = Operation.CREATE if old is None else Operation.UPDATE
    asked = request(
        new, subject, old=old, operation=operation, kind=NAMESPACE, namespace=name, name=name
    )
    return await decide(cluster, engine, asked)


@pytest.mark.parametrize(
    ("old", "new", "paths"),
    [
        (None, MODE, [MODE_PATH]),
        (None, CEILING, [CEILING_PATH]),
        (None, MODE | CEILING, [CEILING_PATH, MODE_PATH]),
        (None, CONTROL_PLANE, ["metadata.labels[control-plane]"]),
        (None, DENY, ["metadata.labels[sallyport.dev/egress]"]),
        (DENY, {}, ["metadata.labels[sallyport.dev/egress]"]),
        (None, AKS, ["metadata.labels[kubernetes.azure.com/managedby]"]),
        ({}, MODE, [MODE_PATH]),
        (MODE, ENFORCE, [MODE_PATH]),
        (MODE, {}, [MODE_PATH]),
        (ENFORCE, {"labels": None}, [MODE_PATH]),
        (CEILING, {"annotations": {"sallyport.dev/ceiling": "a,b"}}, [CEILING_PATH]),
        (CEILING, {"annotations": {}}, [CEILING_PATH]),
        ({}, {"annotations": {"sallyport.dev/ceiling": ""}}, [CEILING_PATH]),
        (AKS, {}, ["metadata.labels[kubernetes.azure.com/managedby]"]),
        (CONTROL_PLANE, {"labels": {"control-plane": ""}}, ["metadata.labels[control-plane]"]),
    ],
)
async def test_setting_changing_and_taking_away_are_refused(
    engine: EmbeddedEngine,
    cluster: Watched,
    old: dict[str, Any] | None,
    new: dict[str, Any],
    paths: list[str],
) -> None:
    """One finding for each mark, by path; and for who may exempt it, none."""
    decision = await change(cluster, engine, (old, new))
    assert (decision.verdict, decision.allowed) == (Verdict.DENY, False)
    assert decision.findings == [
        Finding(
            "namespaces/exempt",
            Action.DENY,
            path,
            "sets, changes or removes a mark that decides how the namespace is guarded",
            "Leave it as it is, or ask someone who may exempt namespaces to set it.",
        )
        for path in paths
    ]
    for subject in (ALICE, ADMIN):
        assert (await change(cluster, engine, (old, new), subject)).verdict is Verdict.ALLOW


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (None, {}),
        (None, PLAIN),
        ({}, PLAIN),
        (PLAIN, {}),
        (MODE, MODE),
        (MODE | CEILING, CEILING | MODE | {"finalizers": ["x"]}),
        (AKS, {"labels": {"kubernetes.azure.com/managedby": "aks", "team": "nlp"}}),
        ({}, {"labels": None, "annotations": None}),
    ],
)
async def test_what_leaves_the_marks_alone_is_admitted_without_asking(
    engine: EmbeddedEngine,
    cluster: Watched,
    old: dict[str, Any] | None,
    new: dict[str, Any],
) -> None:
    """Anyone may create a namespace, and label it otherwise, marked or not."""
    decision = await change(cluster, engine, (old, new))
    assert (decision.verdict, decision.findings, cluster.asked) == (Verdict.ALLOW, [], [])


async def test_right_to_exempt_is_asked_by_name(engine: EmbeddedEngine, cluster: Watched) -> None:
    """Who may exempt one namespace may not exempt another; the right to use is not it."""
    assert (await change(cluster, engine, ({}, MODE), ALICE)).verdict is Verdict.ALLOW
    assert (await change(cluster, engine, ({}, MODE), ALICE, "evals")).verdict is Verdict.DENY
    assert cluster.asked == [(ALICE.username, "train", ""), (ALICE.username, "evals", "")]


@pytest.mark.parametrize("label", ["audit", "warn"])
async def test_namespaces_own_mode_does_not_loosen_the_guard(
    engine: EmbeddedEngine, folder: Folder, label: str
) -> None:
    """A namespace that only warns still keeps its marks."""
    folder.namespace("train", mode=label)
    decision = await change(Watched(folder.cluster()), engine, (MODE, {}))
    assert (decision.verdict, decision.allowed, decision.mode) == (Verdict.DENY, False, "enforce")


async def test_message_says_what_and_whom_to_ask(engine: EmbeddedEngine, cluster: Watched) -> None:
    """The whole message."""
    decision = await change(cluster, engine, ({}, MODE))
    assert decision.message == (
        "Namespace train/train: You may not change how this namespace is guarded.\n\n"
        f"1. {MODE_PATH}: sets, changes or removes a mark that decides how the namespace is "
        "guarded\n"
        "   Fix: Leave it as it is, or ask someone who may exempt namespaces to set it.\n"
        "   (rule namespaces/exempt)\n\n"
        "An administrator can grant the verb exempt on namespaces.sallyport.dev train "
        "(ClusterRole sallyport-exempt).\n"
        f"Decision {ID}"
    )


async def test_access_review_that_fails_is_an_error(
    engine: EmbeddedEngine, cluster: Watched
) -> None:
    """Nobody exempts a namespace because nobody answered."""
    cluster.fails = frozenset("*")
    decision = await change(cluster, engine, ({}, MODE), ADMIN)
    assert (decision.verdict, decision.allowed, decision.error_kind) == (
        Verdict.ERROR,
        False,
        "access-review",
    )


@pytest.mark.parametrize("subresource", ["status", "finalize"])
async def test_subresources_are_no_way_around(
    engine: EmbeddedEngine, cluster: Watched, subresource: str
) -> None:
    """A namespace's metadata can be sent there too."""
    asked = request(
        {"metadata": {"name": "train"} | MODE},
        BOB,
        old={"metadata": {"name": "train"}},
        operation=Operation.UPDATE,
        kind=NAMESPACE,
        name="train",
        subresource=subresource,
    )
    assert (await decide(cluster, engine, asked)).verdict is Verdict.DENY
