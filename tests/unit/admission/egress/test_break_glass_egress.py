"""A new Pod that a BreakGlass lets connect everywhere is told so; no policy may repeat that."""

import copy
from typing import Any

import pytest

from admission.gather import Gatherer
from admission.judge import Judge
from core.base import names
from core.decision.decision import Action, Decision, Verdict
from core.decision.namespaces import Modes
from core.decision.request import Kind, Operation, Phase
from core.egress.pod_labels import egress_labels
from core.kubernetes.label_selectors import Requirement
from egress.limits.settings import IntentSettings
from egress.model.openings import CompiledAllowlists
from egress.render.engines import render
from egress.render.target import RenderTarget
from identity.subjects import parse_controllers
from policies.engine.embedded_engine import EmbeddedEngine
from tests.unit.admission.approvals.test_break_glass import consent, sealed
from tests.unit.admission.approvals.test_exceptions import ANN, BEN, NOW
from tests.unit.admission.counting_cluster import Watched
from tests.unit.admission.egress.labelled_pods import held, labelled
from tests.unit.admission.world import ALICE, BOB, ID, Folder, pod, request

Json = dict[str, Any]

RULE = "egress/break-glass"
HOUR_S = 3600


def _cluster(folder: Folder, *approvers: Any, **spec: Any) -> Watched:
    """Return a cluster in which a BreakGlass for egress is open; `train` is enrolled."""
    for who in (ANN, BEN):
        folder.grant(
            f"User:{who.username}", "break-glass", verb="approve", resource="approvaltiers"
        )
    fields = {"namespaces": ["train", "audited", "plain"], "egress": {}, **spec}
    glass = sealed(**fields)
    folder.documents += [glass, *(consent(glass, who) for who in approvers)]
    return held(folder)


async def _judged(
    cluster: Watched, engine: EmbeddedEngine, made: Json, now: float = NOW, **more: Any
) -> Decision:
    gatherer = Gatherer(
        cluster,
        engine,
        parse_controllers(()),
        intent_settings=IntentSettings(),
        clock=lambda: now,
    )
    asked = request(made, more.pop("subject", ALICE), phase=Phase.VALIDATING, **more)
    return await Judge(gatherer, Modes(), lambda: ID).validate(asked, budget=10.0)


def _ready(namespace: str = "train") -> Json:
    made = labelled(egress_labels("trainer", None), pod(serviceAccountName="trainer"))
    made["metadata"]["namespace"] = namespace
    return made


def _said(decision: Decision) -> list[str]:
    return [each.message for each in decision.findings if each.rule == RULE]


async def test_a_pod_is_told_by_what_it_is_open_and_until_when(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """It is admitted with a warning; after the end nothing is said any more."""
    cluster = _cluster(folder, ANN, BEN)
    decision = await _judged(cluster, engine, _ready())
    (message,) = _said(decision)
    assert message == (
        "connects everywhere but to reserved ranges, by BreakGlass fire until 2026-06-01T00:30:00Z"
    )
    assert {each.action for each in decision.findings if each.rule == RULE} == {Action.WARN}
    assert decision.allowed
    assert not _said(await _judged(cluster, engine, _ready(), NOW + HOUR_S))


async def test_whoever_is_not_kube_apiserver_hears_of_no_break_glass(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """Its name and its end are another object's."""
    cluster = _cluster(folder, ANN, BEN)
    whole = await _judged(cluster, engine, _ready())
    other = await _judged(cluster, engine, _ready(), authenticated=False)
    assert "fire" in " ".join(whole.warnings)
    assert "fire" not in " ".join(other.warnings)


@pytest.mark.parametrize(
    ("approvers", "spec"),
    [
        ((ANN,), {}),
        ((ANN, BEN), {"began": ""}),
        ((ANN, BEN), {"namespaces": ["audited"]}),
        ((ANN, BEN), {"egress": {"workloads": ["Job/fetch"]}}),
    ],
)
async def test_nothing_is_said_of_a_pod_that_is_closed(
    engine: EmbeddedEngine, folder: Folder, approvers: tuple[Any, ...], spec: Json
) -> None:
    """It is not approved, not activated, of another namespace, or of another workload."""
    cluster = _cluster(folder, *approvers, **spec)
    assert not _said(await _judged(cluster, engine, _ready()))


async def test_nothing_is_said_where_all_is_open_anyway(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """Neither of a namespace that is not enrolled, nor of a workload that is not closed yet."""
    cluster = _cluster(folder, ANN, BEN)
    for namespace in ("plain", "audited"):
        decision = await _judged(cluster, engine, _ready(namespace), namespace=namespace)
        assert not _said(decision)


async def test_a_users_policy_may_not_repeat_what_a_break_glass_opens(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """It would stay: it is refused as if nothing were open."""
    cluster = _cluster(folder, ANN, BEN)
    some = (Requirement(names.EGRESS_WORKLOAD_LABEL, "In", ("Job.fetch",)),)
    for opened in ((), some):
        meaning = CompiledAllowlists("train").with_opened(opened)
        objects = render(meaning, RenderTarget()).objects
        cluster.policies = objects
        (spec,) = (
            each["spec"] for each in objects if each["metadata"]["name"] == "sallyport-break-glass"
        )
        decision = await _judged(
            cluster,
            engine,
            {"metadata": {"name": "own", "namespace": "train"}, "spec": copy.deepcopy(spec)},
            subject=BOB,
            kind=Kind("NetworkPolicy", "v1", "networking.k8s.io"),
            operation=Operation.CREATE,
            namespace="train",
            name="own",
        )
        assert decision.verdict is Verdict.DENY
        assert {each.rule for each in decision.findings} == {"egress/opens"}
