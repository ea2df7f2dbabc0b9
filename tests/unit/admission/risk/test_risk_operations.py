"""Each request is of one class of operation; what changes nothing is not asked about."""

from typing import Any

import pytest

from admission.risk.operations import operation_of_object, operation_of_own_kind
from core.base.errors import NotSyncedError
from core.decision.decision import Action, Verdict
from core.decision.request import Kind, Operation, Request
from core.risk.model import OperationClass, RiskLevel
from policies.engine.embedded_engine import EmbeddedEngine
from tests.unit.admission.approvals.test_break_glass import sealed
from tests.unit.admission.approvals.test_exceptions import written
from tests.unit.admission.approvals.test_profile_widening import profile
from tests.unit.admission.egress.allowlist_requests import asked as of_intent
from tests.unit.admission.egress.allowlist_requests import intent
from tests.unit.admission.objects.test_entering_pods import connect, shell
from tests.unit.admission.requester.test_noted_workloads import DEPLOYMENT, asked, notes
from tests.unit.admission.risk.cluster_at_risk import (
    CAROL,
    DAVE,
    decide,
    everyone,
    of_table,
    said,
    snapshot,
)
from tests.unit.admission.sandbox.sandbox_cluster import pod, workload
from tests.unit.admission.world import NAMESPACE, Folder, request, update

HIGH = snapshot(CAROL, level=RiskLevel.HIGH)
RBAC = "rbac.authorization.k8s.io"


def debugged() -> dict[str, Any]:
    """Return a Pod with a debug container."""
    made = pod()
    made["spec"]["ephemeralContainers"] = [{"name": "d", "image": "registry.example/d"}]
    return made


def own(made: dict[str, Any], kind: str = "", *, old: dict[str, Any] | None = None) -> Request:
    """Return Carol's request for one of Sallyport's objects."""
    namespace = made["metadata"].get("namespace", "")
    name = kind or made["kind"]
    operation = Operation.UPDATE if old else Operation.CREATE
    version = Kind(name, "v1alpha1", "sallyport.dev")
    return request(
        made,
        CAROL,
        old=old,
        operation=operation,
        kind=version,
        namespace=namespace,
        name=made["metadata"]["name"],
    )


def approval(kind: str = "Approval") -> dict[str, Any]:
    """Return an approval of an exception."""
    return {
        "apiVersion": "sallyport.dev/v1alpha1",
        "kind": kind,
        "metadata": {"name": "yes"} | ({"namespace": "train"} if kind == "Approval" else {}),
        "spec": {
            "for": {"kind": "PolicyException", "name": "llama"},
            "expiresAt": "2026-12-01T00:00:00Z",
        },
    }


@pytest.mark.parametrize(
    ("asks", "expected"),
    [
        (request(pod()), OperationClass.CREATE_WORKLOAD),
        (update(pod(), pod()), OperationClass.CREATE_WORKLOAD),
        (request(workload(), kind=DEPLOYMENT), OperationClass.CREATE_WORKLOAD),
        (shell(), OperationClass.EXEC),
        (connect("NodeProxyOptions", {}), OperationClass.EXEC),
        (update(debugged(), pod(), subresource="ephemeralcontainers"), OperationClass.EXEC),
        (
            request(
                {},
                kind=Kind("TokenRequest", "v1", "authentication.k8s.io"),
                subresource="token",
            ),
            OperationClass.MAKE_CREDENTIALS,
        ),
        (
            request({}, kind=Kind("CertificateSigningRequest", "v1", "certificates.k8s.io")),
            OperationClass.MAKE_CREDENTIALS,
        ),
        (request({}, kind=Kind("RoleBinding", "v1", RBAC)), OperationClass.CHANGE_RIGHTS),
    ],
)
def test_what_is_read_is_of_one_class(asks: Request, expected: OperationClass) -> None:
    """Whatever enters what runs is one class, a debug container too."""
    assert operation_of_object(asks) is expected


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (written(), OperationClass.ASK),
        (intent(), OperationClass.ASK),
        (approval(), OperationClass.APPROVE),
        (approval("ClusterApproval"), OperationClass.APPROVE),
        (sealed(""), OperationClass.BREAK_GLASS),
        (profile("host/network"), OperationClass.CHANGE_RIGHTS),
    ],
    ids=lambda made: made["kind"] if isinstance(made, dict) else "",
)
def test_own_kinds_are_of_one_class_where_they_change(
    made: dict[str, Any], expected: OperationClass
) -> None:
    """A label, a status and a finalizer are no change; of another group it is nothing."""
    assert operation_of_own_kind(own(made)) is expected
    changed = made | {"spec": {**made["spec"], "reason": "another"}}
    assert operation_of_own_kind(own(changed, old=made)) is expected
    labelled = made | {"metadata": {**made["metadata"], "labels": {"a": "b"}}}
    assert operation_of_own_kind(own(labelled, old=made)) is None
    other = Kind(made["kind"], "v1", "example.com")
    assert operation_of_own_kind(request(made, CAROL, kind=other)) is None


def test_what_cannot_be_read_may_change_something() -> None:
    """A spec that was broken before hides what it said."""
    asks = request(
        written(),
        CAROL,
        old=b'{"spec": ',
        operation=Operation.UPDATE,
        kind=Kind("PolicyException", "v1alpha1", "sallyport.dev"),
    )
    assert operation_of_own_kind(asks) is OperationClass.ASK


@pytest.mark.parametrize(
    "asks",
    [
        own(written()),
        of_intent(intent(), who=CAROL),
        own(approval()),
        own(sealed("")),
        own(profile("host/network")),
        own(written(reason="another"), old=written()),
    ],
    ids=lambda asks: asks.kind.kind,
)
async def test_who_is_at_risk_neither_asks_nor_approves(
    engine: EmbeddedEngine, folder: Folder, asks: Request
) -> None:
    """Whatever the namespace's mode is: these outlive the request."""
    decision = await decide(everyone(folder, "audit"), engine, HIGH, asks)
    assert ("identity/risk", Action.DENY, "") in said(decision)
    assert not decision.allowed
    clean = await decide(folder, engine, snapshot(), asks)
    assert said(clean) == []


async def test_marks_of_namespaces_are_rights(engine: EmbeddedEngine, folder: Folder) -> None:
    """By the class that the namespace has, not the one that the request gives it."""
    folder = everyone(folder, risk_class="secret")
    folder.grant("Group:researchers", verb="exempt", resource="namespaces")
    known = of_table("deny", operations=["change-rights"], namespaces=["secret"], name="closed")
    old = folder.documents[0]
    plain = {**old, "metadata": {**old["metadata"], "labels": {"sallyport.dev/mode": "enforce"}}}
    asks = update(plain, old, CAROL, kind=NAMESPACE, namespace="train", name="train")
    refused = await decide(folder, engine, known, asks)
    assert said(refused) == [("identity/risk", Action.DENY, "")]
    assert refused.evidence.risk[0].row == "closed"
    labels = {**old["metadata"]["labels"], "team": "nlp"}
    team = {**old, "metadata": {**old["metadata"], "labels": labels}}
    unmarked = update(team, old, CAROL, kind=NAMESPACE, namespace="train", name="train")
    assert (await decide(folder, engine, known, unmarked)).verdict is Verdict.ALLOW


async def test_rights_that_need_no_privilege_are_rights(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """A binding gives somebody a way back, however little it gives; others may bind."""
    role = {
        "apiVersion": f"{RBAC}/v1",
        "kind": "Role",
        "metadata": {"name": "reads", "namespace": "train"},
        "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}],
    }
    kind = Kind("Role", "v1", RBAC)
    refused = await decide(everyone(folder), engine, HIGH, request(role, CAROL, kind=kind))
    assert (refused.verdict, refused.allowed) == (Verdict.DENY, False)
    assert refused.evidence.left_alone == ""
    other = await decide(folder, engine, HIGH, request(role, DAVE, kind=kind))
    assert (other.verdict, other.evidence.left_alone) == (Verdict.ALLOW, "it needs no privilege")


async def test_scaling_a_workload_asks_nobody(engine: EmbeddedEngine, folder: Folder) -> None:
    """Nothing of whoever scales is in it; its Pods are judged for its author."""
    made = workload(annotations=notes(DAVE.label, "all"))
    more = {**made, "spec": {**made["spec"], "replicas": 5}}
    decision = await decide(everyone(folder), engine, HIGH, asked(more, CAROL, old=made))
    assert (decision.verdict, decision.evidence.risk) == (Verdict.ALLOW, ())


async def test_what_takes_away_is_never_judged(engine: EmbeddedEngine, folder: Folder) -> None:
    """Whoever is at risk may stop what they run."""
    asks = request(None, CAROL, old=pod(), operation=Operation.DELETE)
    decision = await decide(everyone(folder), engine, HIGH, asks)
    assert (decision.verdict, decision.evidence.risk) == (Verdict.ALLOW, ())


async def test_a_namespace_that_is_not_known_is_an_error(
    engine: EmbeddedEngine, folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its class may be the one that is closed: an approval in it is not let through."""

    async def unknown(*_: object) -> None:
        raise NotSyncedError("namespace train is unknown")

    everyone(folder)
    monkeypatch.setattr("kube.cluster.folder.FolderCluster.namespace", unknown)
    decision = await decide(folder, engine, snapshot(), own(approval()))
    assert (decision.verdict, decision.allowed) == (Verdict.ERROR, False)
