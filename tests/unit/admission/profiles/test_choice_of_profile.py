"""Admitted: under which profile, of those that the subjects may use and that cover all."""

import pytest

from core.decision.decision import Decision, Verdict
from core.people.subject import Subject, service_account_subject
from policies.engine.embedded_engine import EmbeddedEngine
from tests.unit.admission.world import (
    ALICE,
    BOB,
    ID,
    Folder,
    decide,
    pod,
    request,
    without_evidence,
)

JOBS = service_account_subject("kube-system", "job-controller")
OPERATOR = service_account_subject("kubeflow", "operator")
JOB = ("batch/v1", "Job")
PYTORCH = ("kubeflow.org/v1", "PyTorchJob")


async def test_pod_that_needs_nothing_is_admitted(engine: EmbeddedEngine, folder: Folder) -> None:
    """The whole decision: one revision of each, and whose right was asked."""
    cluster = folder.cluster()
    assert without_evidence(await decide(cluster, engine, request(pod()))) == Decision(
        id=ID,
        verdict=Verdict.ALLOW,
        allowed=True,
        profile="pss-restricted",
        mode="enforce",
        policy_revision=engine.revision,
        profiles_revision=cluster.profiles().revision,
        subjects=[ALICE.label],
    )


@pytest.mark.parametrize(
    ("granted", "expected"),
    [
        ([], None),
        (["b-late"], "b-late"),
        (["b-late", "b-early"], "b-early"),
        (["b-late", "b-early", "a-late"], "b-early"),
        (["b-late", "a-late"], "a-late"),
        (["lower-but-short"], None),
        (["lower-but-short", "b-late"], "b-late"),
        (["pss-privileged", "b-late"], "b-late"),
        (["pss-privileged"], "pss-privileged"),
    ],
)
async def test_lowest_rank_then_name_is_taken(
    engine: EmbeddedEngine, folder: Folder, granted: list[str], expected: str | None
) -> None:
    """Among those that cover all and may be used; a lower rank that does not cover is passed."""
    folder.profile("lower-but-short", 10, "host/pid")
    folder.profile("b-early", 20, "host/network", includes="pss-restricted")
    folder.profile("b-late", 30, "host/network")
    folder.profile("a-late", 30, "host/*")
    if granted:
        folder.grant(f"User:{ALICE.username}", *granted)
    decision = await decide(folder.cluster(), engine, request(pod(hostNetwork=True)))
    assert decision.profile == expected
    assert decision.allowed is (expected is not None)
    assert decision.verdict is (Verdict.ALLOW if expected else Verdict.DENY)


async def test_one_profile_must_cover_all(engine: EmbeddedEngine, folder: Folder) -> None:
    """Two profiles that cover half each do not add up; one that includes both does."""
    folder.profile("net", 10, "host/network").profile("pid", 20, "host/pid")
    folder.grant("Group:researchers", "net", "pid", "both")
    asked = request(pod(hostNetwork=True, hostPID=True))
    assert (await decide(folder.cluster(), engine, asked)).verdict is Verdict.DENY
    folder.profile("both", 900, includes="net pid")
    assert (await decide(folder.cluster(), engine, asked)).profile == "both"


@pytest.mark.parametrize(
    ("namespace", "expected"), [("train", Verdict.ALLOW), ("evals", Verdict.DENY)]
)
async def test_right_holds_in_its_namespace(
    engine: EmbeddedEngine, folder: Folder, namespace: str, expected: Verdict
) -> None:
    """A RoleBinding gives the profile in one namespace and nowhere else."""
    folder.profile("net", 10, "host/network").grant("Group:researchers", "net", namespace="train")
    asked = request(pod(hostNetwork=True), namespace=namespace)
    assert (await decide(folder.cluster(), engine, asked)).verdict is expected


@pytest.mark.parametrize(
    ("maker", "granted", "verdict"),
    [
        # A bare Pod: the requester's right, not that of the account it names.
        ((ALICE, None), ["Group:researchers"], Verdict.ALLOW),
        ((BOB, None), ["ServiceAccount:train/trainer"], Verdict.DENY),
        # Made by the configured controller: the service account's.
        ((JOBS, JOB), ["ServiceAccount:train/trainer"], Verdict.ALLOW),
        ((JOBS, JOB), [f"User:{JOBS.username}"], Verdict.DENY),
        ((JOBS, JOB), ["ServiceAccount:evals/trainer"], Verdict.DENY),
        # An owner written by hand, or an operator that is not configured: both.
        ((ALICE, JOB), ["Group:researchers"], Verdict.DENY),
        ((ALICE, JOB), ["ServiceAccount:train/trainer"], Verdict.DENY),
        ((ALICE, JOB), ["Group:researchers", "ServiceAccount:train/trainer"], Verdict.ALLOW),
        ((OPERATOR, PYTORCH), ["ServiceAccount:kubeflow/operator"], Verdict.DENY),
        (
            (OPERATOR, PYTORCH),
            ["ServiceAccount:kubeflow/operator", "ServiceAccount:train/trainer"],
            Verdict.ALLOW,
        ),
        # An owner that is no workload proves nothing and hides nothing.
        ((ALICE, ("v1", "ConfigMap")), ["Group:researchers"], Verdict.ALLOW),
    ],
)
async def test_all_whose_right_counts_must_have_it(
    engine: EmbeddedEngine,
    folder: Folder,
    maker: tuple[Subject, tuple[str, str] | None],
    granted: list[str],
    verdict: Verdict,
) -> None:
    """The table of subjects, end to end: who asks, what owns the Pod, who was given the right."""
    requester, owner = maker
    folder.profile("net", 10, "host/network")
    for who in granted:
        folder.grant(who, "net")
    made = pod(owner=owner, hostNetwork=True, serviceAccountName="trainer")
    decision = await decide(folder.cluster(), engine, request(made, requester))
    assert decision.verdict is verdict


async def test_operator_that_is_configured_is_no_requester(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """With the setting, the service account's right alone decides, and is named."""
    folder.profile("net", 10, "host/network").grant("ServiceAccount:train/trainer", "net")
    made = pod(owner=PYTORCH, hostNetwork=True, serviceAccountName="trainer")
    decision = await decide(
        folder.cluster(),
        engine,
        request(made, OPERATOR),
        controllers=[f"{OPERATOR.username}=PyTorchJob.kubeflow.org"],
    )
    assert decision.verdict is Verdict.ALLOW
    assert decision.subjects == ["system:serviceaccount:train:trainer"]


async def test_profile_that_may_be_used_but_is_gone_gives_nothing(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """RBAC may name what no longer exists."""
    folder.grant("Group:researchers", "gone")
    decision = await decide(folder.cluster(), engine, request(pod(hostNetwork=True)))
    assert decision.verdict is Verdict.DENY
