"""What only the request shows adds to the risk: Services, new accounts, who asks, who enters."""

import datetime as dt
from typing import Any

import msgspec
import pytest

from admission.model.facts import Facts, RiskFacts
from admission.objects.evaluation import PolicyContexts
from core.decision.decision import Verdict
from core.decision.namespaces import Namespace
from core.kubernetes.pod import Pod
from core.people.subject import Subject
from core.profiles.container_profiles import ProfileSet
from core.risk.model import OperationClass
from core.sandbox.decision import SandboxMode
from identity.subjects import kind_of
from policies.engine.embedded_engine import EmbeddedEngine
from policies.projection.model import ABSENT, Standings
from sandbox.runtime_choice import SandboxSettings
from tests.unit.admission.counting_cluster import Watched
from tests.unit.admission.sandbox.sandbox_cluster import (
    POINTS,
    final,
    judge,
    mutated,
    namespace,
    pod,
    profiled,
    runtime_class,
)
from tests.unit.admission.world import ALICE, Folder, request

NOW = 1_800_000_000.0


def service(folder: Folder, kind: str = "LoadBalancer", **labels: str) -> Folder:
    """Add a Service of the namespace `train` that selects what has these labels."""
    folder.documents.append(
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "front", "namespace": "train"},
            "spec": {"type": kind, "selector": labels},
        }
    )
    return folder


def account(folder: Folder, age_s: float) -> Folder:
    """Add the service account that Pods have by default, made so long before NOW."""
    made = dt.datetime.fromtimestamp(NOW - age_s, dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    folder.documents.append(
        {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": "default", "namespace": "train", "creationTimestamp": made},
        }
    )
    return folder


def by_risk(folder: Folder) -> Folder:
    """Let the namespace `train` ask for a sandbox by risk."""
    return runtime_class(profiled(namespace(folder, "by-risk"), "wide", None))


def served() -> dict[str, Any]:
    """Return a Pod with a label that Services select."""
    made = pod()
    made["metadata"]["labels"] = {"app": "front"}
    return made


async def test_a_service_to_the_outside_counts(engine: EmbeddedEngine, folder: Folder) -> None:
    """Of its namespace, selecting the Pod; one for the cluster alone does not."""
    open_to_all = service(by_risk(folder), app="front").cluster()
    decision = await final(judge(open_to_all, engine), request(served()))
    assert decision.sandbox is not None
    assert [each.rule for each in decision.sandbox.signals] == ["sandbox/exposure/service"]
    assert "Service front" in decision.sandbox.signals[0].reason
    folder.documents[-1]["spec"]["type"] = "ClusterIP"
    decision = await final(judge(folder.cluster(), engine), request(served()))
    assert decision.sandbox is not None
    assert decision.sandbox.signals == ()


async def test_a_score_of_both_kinds_decides(engine: EmbeddedEngine, folder: Folder) -> None:
    """Points of the object's signals and of the request's add up to the threshold."""
    cluster = service(by_risk(folder), app="front").cluster()
    site = SandboxSettings(points={"sandbox/exposure/service": POINTS})
    decision = await mutated(judge(cluster, engine, site), request(served()))
    assert [patch["value"] for patch in decision.filled] == ["gvisor"]


@pytest.mark.parametrize(("age_s", "counts"), [(60.0, True), (86_399, True), (86_401, False)])
async def test_a_new_account_counts(
    engine: EmbeddedEngine,
    folder: Folder,
    age_s: float,
    counts: bool,  # noqa: FBT001
) -> None:
    """Younger than the setting, by the clock of the decision."""
    cluster = account(by_risk(folder), age_s).cluster()
    decision = await final(judge(cluster, engine, clock=lambda: NOW), request(pod()))
    assert decision.sandbox is not None
    rules = [each.rule for each in decision.sandbox.signals]
    assert rules == (["sandbox/actor/new_service_account"] if counts else [])


@pytest.mark.parametrize("lost", ["services", "service-accounts"])
@pytest.mark.parametrize(
    ("mode", "verdict"), [("by-risk", Verdict.ERROR), ("required", Verdict.DENY)]
)
async def test_what_is_not_known_is_an_error_where_the_risk_decides(
    engine: EmbeddedEngine, folder: Folder, lost: str, mode: str, verdict: Verdict
) -> None:
    """Where the sandbox is demanded anyway the score matters to nobody."""
    runtime_class(profiled(namespace(folder, mode), "wide", None))
    cluster = Watched(folder.cluster(), lost=lost)
    decision = await final(judge(cluster, engine), request(pod()))
    assert decision.verdict is verdict


def _situation(
    folder: Folder,
    mode: SandboxMode,
    subject: Subject = ALICE,
    lost: str = "",
    risk: RiskFacts | None = None,
    **labels: str,
) -> Any:
    """Return the context of a Pod's creation as policies see it."""
    contexts = PolicyContexts(Watched(folder.cluster(), lost=lost), kind_of, lambda: NOW, 60.0)
    asked = msgspec.structs.replace(request(pod()), subject=subject)
    facts = Facts(ProfileSet("r", ()), "", {}, namespace=Namespace("train", labels), risk=risk)
    context = contexts.context(asked, facts, contexts.read_cluster_context(asked, Pod(), mode))
    return msgspec.json.decode(context)


def test_policies_see_groups_and_kinds_and_no_name(folder: Folder) -> None:
    """Neither the user's name nor an id is in what policies see."""
    subject = Subject("alice@example.com", "uid-1", ["b", "a"], {"oid": ["secret"]})
    seen = _situation(folder, SandboxMode.BY_RISK, subject, tier="gold")
    assert seen == {
        "operation": "CREATE",
        "subresource": "",
        "namespace": "train",
        "requester": "human",
        "groups": ["a", "b"],
        "namespaceLabels": {"tier": "gold"},
        "newServiceAccount": False,
        "services": [],
        "risk": {"requester": "", "author": "", "workload": ""},
        "behaviour": [],
        "absent": list(ABSENT),
    }


def test_policies_see_risk_in_words_where_it_is_known(folder: Folder) -> None:
    """By role, without an id, a time or an event: equal risks give equal contexts."""
    risk = RiskFacts(
        operation=OperationClass.CREATE_WORKLOAD,
        standings=Standings("clean", "medium", "managed-identity"),
        behaviour=("unusual-hour",),
        version=7,
    )
    seen = _situation(folder, SandboxMode.REQUIRED, risk=risk)
    assert seen["risk"] == {
        "requester": "clean",
        "author": "medium",
        "workload": "managed-identity",
    }
    assert seen["behaviour"] == ["unusual-hour"]
    assert seen["absent"] == ["egress", "weights"]
    assert seen == _situation(
        folder, SandboxMode.REQUIRED, risk=msgspec.structs.replace(risk, version=8)
    )


def test_what_is_absent_is_said(folder: Folder) -> None:
    """What cannot be known, and is not needed, is no `false`."""
    seen = _situation(folder, SandboxMode.REQUIRED, lost="services")
    assert seen["absent"] == [*ABSENT, "services", "service-accounts"]
