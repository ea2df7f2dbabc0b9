"""Whose risk counts: who asks, who submitted it first, and what its Pods can sign in as."""

from typing import Any

import pytest

from admission.objects.sign_ins import MOST_SHOWN
from core.base.errors import NotSyncedError
from core.decision.decision import Action, Verdict
from core.decision.request import Kind, Operation
from core.people.subject import Subject, service_account_subject
from core.risk.model import RiskLevel
from policies.engine.embedded_engine import EmbeddedEngine
from tests.unit.admission.objects.test_entering_pods import shell
from tests.unit.admission.requester.test_noted_workloads import asked, notes
from tests.unit.admission.risk.cluster_at_risk import (
    CAROL,
    CLIENT,
    DAVE,
    ELSEWHERE,
    PRINCIPAL,
    SPARE,
    account,
    decide,
    everyone,
    made_for,
    said,
    snapshot,
)
from tests.unit.admission.sandbox.sandbox_cluster import pod, workload
from tests.unit.admission.world import Folder, request

USE = "azure.workload.identity/use"


def signing_in(*, label: str | None = "true", name: str = "robot", **spec: Any) -> dict[str, Any]:
    """Return a Pod of a service account, with the label of azure-workload-identity or without."""
    made = pod(serviceAccountName=name, **spec)
    if label is not None:
        made["metadata"]["labels"] = {USE: label}
    return made


def with_env(made: dict[str, Any], **values: Any) -> dict[str, Any]:
    """Return a Pod whose container has these variables: a text, or where it comes from."""
    made["spec"]["containers"][0]["env"] = [
        {"name": name} | ({"value": value} if isinstance(value, str) else {"valueFrom": value})
        for name, value in values.items()
    ]
    return made


def with_token(made: dict[str, Any], audience: str) -> dict[str, Any]:
    """Return a Pod that mounts a token of its own making."""
    source = {"serviceAccountToken": {"audience": audience, "path": "token"}}
    made["spec"]["volumes"] = [{"name": "mine", "projected": {"sources": [source]}}]
    return made


async def test_risk_of_the_requester_counts(engine: EmbeddedEngine, folder: Folder) -> None:
    """No field of the object says who that is; others do as they did."""
    everyone(folder)
    known = snapshot(CAROL, level=RiskLevel.HIGH)
    refused = await decide(folder, engine, known, request(pod(), CAROL))
    assert said(refused) == [("identity/risk", Action.DENY, "")]
    assert (refused.verdict, refused.allowed) == (Verdict.DENY, False)
    assert (await decide(folder, engine, known, request(pod(), DAVE))).verdict is Verdict.ALLOW


async def test_nobody_is_asked_where_identity_is_off(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """Nothing is checked, recorded or said of it."""
    decision = await decide(everyone(folder), engine, None, request(pod(), CAROL))
    assert decision.verdict is Verdict.ALLOW
    assert (decision.evidence.risk, decision.evidence.risk_table) == ((), "")


async def test_the_clusters_own_have_no_risk(engine: EmbeddedEngine, folder: Folder) -> None:
    """Whatever a snapshot says of a key that happens to be theirs."""
    robot = service_account_subject("train", "robot")
    known = snapshot(robot, level=RiskLevel.HIGH)
    decision = await decide(everyone(folder), engine, known, request(pod(), robot))
    assert decision.verdict is Verdict.ALLOW
    assert decision.evidence.risk == ()
    assert decision.evidence.risk_version == known.head.version


async def test_who_submitted_it_counts_for_what_a_controller_makes(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """The finding names the workload on which they are noted; others' Pods are made."""
    asks = made_for(everyone(folder), CAROL)
    known = snapshot(CAROL, level=RiskLevel.HIGH)
    decision = await decide(folder, engine, known, asks)
    path = "metadata.annotations[sallyport.dev/requester] of Deployment llama"
    assert ("identity/risk", Action.WARN, path) in said(decision)
    assert [each.role for each in decision.evidence.risk] == ["author"]
    assert decision.evidence.risk[0].who == CAROL.label
    other = snapshot(DAVE, level=RiskLevel.HIGH)
    assert (await decide(folder, engine, other, asks)).verdict is Verdict.ALLOW


@pytest.mark.parametrize(
    ("made", "path"),
    [
        (signing_in(), "spec.serviceAccountName"),
        (
            with_env(signing_in(name="plain", label=None), AZURE_CLIENT_ID=CLIENT.upper()),
            "spec.containers[0].env[0].value",
        ),
        (
            with_env(signing_in(name="spare"), AZURE_CLIENT_ID=CLIENT),
            "spec.containers[0].env[0].value",
        ),
        (
            with_token(signing_in(label=None), "api://AzureADTokenExchange"),
            "spec.serviceAccountName",
        ),
    ],
    ids=["service account", "own client id", "another client id", "own token"],
)
async def test_risk_of_the_pods_entra_identity_counts(
    engine: EmbeddedEngine, folder: Folder, made: dict[str, Any], path: str
) -> None:
    """As its service account says, or as it says itself; the finding names the field."""
    account(account(account(everyone(folder), "robot"), "spare", SPARE), "plain", None)
    decision = await decide(folder, engine, snapshot(client=RiskLevel.HIGH), request(made, DAVE))
    assert ("identity/risk", Action.DENY, path) in said(decision)
    clean = await decide(folder, engine, snapshot(), request(made, DAVE))
    assert clean.allowed
    assert f"client:{CLIENT}" in {each.who for each in clean.evidence.risk}


@pytest.mark.parametrize(
    "made",
    [
        signing_in(label=None),
        signing_in(label="True"),
        with_token(signing_in(label=None), "vault"),
    ],
    ids=["no label", "another word", "a token for others"],
)
async def test_who_does_not_sign_in_is_not_judged_for_it(
    engine: EmbeddedEngine, folder: Folder, made: dict[str, Any]
) -> None:
    """An annotation alone gives a Pod no token for Entra."""
    account(everyone(folder), "robot")
    decision = await decide(folder, engine, snapshot(client=RiskLevel.HIGH), request(made, DAVE))
    assert decision.verdict is Verdict.ALLOW


@pytest.mark.parametrize(
    "made",
    [
        with_env(signing_in(name="robot"), AZURE_CLIENT_ID={"secretKeyRef": {"name": "s"}}),
        with_token(signing_in(name="plain", label=None), "api://AzureADTokenExchange"),
        signing_in(name="unknown"),
    ],
    ids=["by reference", "no client id", "an account that nobody knows"],
)
async def test_who_hides_what_it_signs_in_as_is_not_clean(
    engine: EmbeddedEngine, folder: Folder, made: dict[str, Any]
) -> None:
    """It is recorded as not identified, and the author is told."""
    account(account(everyone(folder), "robot"), "plain", None)
    decision = await decide(folder, engine, snapshot(), request(made, DAVE))
    seen = {(each.who, each.standing) for each in decision.evidence.risk}
    assert ("client:unidentified", "unidentified") in seen
    assert decision.verdict is Verdict.WARN


async def test_another_tenants_application_is_foreign(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """The annotation of the service account says so."""
    account(everyone(folder), "robot", tenant=ELSEWHERE)
    decision = await decide(folder, engine, snapshot(), request(signing_in(), DAVE))
    assert "foreign-tenant" in {each.standing for each in decision.evidence.risk}


async def test_templates_are_judged_for_what_their_pods_sign_in_as(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """The path is that of the field in the workload."""
    account(everyone(folder), "robot")
    made = workload(serviceAccountName="robot", annotations=notes(DAVE.label, "all"))
    made["spec"]["template"]["metadata"] = {"labels": {USE: "true"}}
    decision = await decide(folder, engine, snapshot(client=RiskLevel.HIGH), asked(made, DAVE))
    path = "spec.template.spec.serviceAccountName"
    assert said(decision) == [("identity/risk", Action.DENY, path)]


async def test_whoever_enters_a_pod_gets_what_it_signs_in_as(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """The path says that the field is the Pod's."""
    account(everyone(folder), "robot")
    folder.documents[-2] = signing_in()
    decision = await decide(folder, engine, snapshot(client=RiskLevel.HIGH), shell(DAVE))
    path = "spec.serviceAccountName of Pod llama-0"
    assert said(decision) == [("identity/risk", Action.DENY, path)]


async def test_of_many_templates_few_identities_are_told_apart(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """What else they name counts as hidden: whoever writes thousands keeps no gate busy."""
    jobs = []
    for number in range(900):
        client = f"00000000-0000-4000-8000-{number:012d}"
        template = with_env(pod(), AZURE_CLIENT_ID=client)
        spec = {"template": {"spec": {"template": {"spec": template["spec"]}}}}
        jobs.append({"name": f"j{number}", **spec})
    made = {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": "llama", "namespace": "train"},
        "spec": {"replicatedJobs": jobs},
    }
    kind = Kind("JobSet", "v1alpha2", "jobset.x-k8s.io")
    decision = await decide(everyone(folder), engine, snapshot(), asked(made, DAVE, kind=kind))
    seen = {each.who for each in decision.evidence.risk}
    assert len(seen) == MOST_SHOWN + 2
    assert {"client:unidentified", DAVE.label} < seen


@pytest.mark.parametrize(
    ("audience", "expected"),
    [
        ("api://AzureADTokenExchange", [("identity/risk", Action.DENY, "spec.audiences[1]")]),
        ("vault", []),
    ],
)
async def test_a_token_for_entra_counts_as_its_account(
    engine: EmbeddedEngine,
    folder: Folder,
    audience: str,
    expected: list[tuple[str, Action, str]],
) -> None:
    """Whoever makes one signs in with it elsewhere."""
    account(everyone(folder), "robot")
    made = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "spec": {"audiences": ["other", audience]},
    }
    kind = Kind("TokenRequest", "v1", "authentication.k8s.io")
    asks = request(
        made, DAVE, operation=Operation.CREATE, kind=kind, name="robot", subresource="token"
    )
    decision = await decide(folder, engine, snapshot(client=RiskLevel.HIGH), asks)
    assert said(decision) == expected


async def test_the_worst_of_them_decides(engine: EmbeddedEngine, folder: Folder) -> None:
    """Each is named; an application that is clean clears nobody."""
    account(everyone(folder), "robot")
    known = snapshot(CAROL, level=RiskLevel.LOW, client=RiskLevel.HIGH)
    decision = await decide(folder, engine, known, request(signing_in(), CAROL))
    assert decision.verdict is Verdict.DENY
    assert [each.who for each in decision.evidence.risk] == [f"client:{CLIENT}", CAROL.label]
    turned = snapshot(CAROL, level=RiskLevel.HIGH)
    decision = await decide(folder, engine, turned, request(signing_in(), CAROL))
    assert [each.effect for each in decision.evidence.risk] == ["deny", "allow"]


async def test_accounts_that_are_not_known_are_an_error_for_who_signs_in_alone(
    engine: EmbeddedEngine, folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody is said to be at risk, and nobody passes for clean; other Pods are admitted."""
    everyone(folder)

    def lost(*_: object) -> None:
        raise NotSyncedError("the ServiceAccounts have not been loaded")

    monkeypatch.setattr("kube.cluster.folder.FolderCluster.service_account_sign_in", lost)
    decision = await decide(folder, engine, snapshot(), request(signing_in(), DAVE))
    assert (decision.verdict, decision.error_kind) == (Verdict.ERROR, "not-synced")
    assert "not a denial" in decision.message
    assert (await decide(folder, engine, snapshot(), request(pod(), DAVE))).verdict is Verdict.ALLOW


async def test_no_object_id_of_an_application_is_taken_for_a_person(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """A service principal that asks by itself counts by its own entry."""
    asks = Subject(PRINCIPAL, groups=["system:authenticated"], extra={"oid": [PRINCIPAL]})
    known = snapshot(client=RiskLevel.HIGH)
    decision = await decide(everyone(folder), engine, known, request(pod(), asks))
    assert decision.verdict is Verdict.DENY
