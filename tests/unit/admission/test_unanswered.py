"""What nobody could judge: an error, told apart from a denial, and never silence."""

import pytest

from core.base.errors import EvaluationError
from core.decision.decision import Decision, Verdict, WhenUnrecorded
from core.decision.namespaces import Mode
from policies.bundle.format import read_bundle
from policies.engine.embedded_engine import EmbeddedEngine, EvaluationLimits
from tests.unit.admission.counting_cluster import Watched
from tests.unit.admission.world import (
    ADMIN,
    ID,
    Folder,
    decide,
    judge_of,
    pod,
    request,
    without_evidence,
)
from tests.unit.policies.bundles import make_bundle, rule

HEAD = "Pod train/llama-0 could not be judged. This is an error, not a denial."
TAIL = f"Try again; if it stays, tell your cluster's operators the decision's id.\nDecision {ID}"
NO_ANSWER = "kube-apiserver did not say whether {} may be used"


def failed(engine: EmbeddedEngine, kind: str, reason: str, mode: Mode = Mode.ENFORCE) -> Decision:
    """Return the whole decision on what could not be judged."""
    return Decision(
        id=ID,
        verdict=Verdict.ERROR,
        allowed=mode is not Mode.ENFORCE,
        message=f"{HEAD}\n\n{reason}\n{TAIL}",
        warnings=[HEAD] if mode is Mode.WARN else [],
        mode=mode.value,
        error_kind=kind,
        reason=reason,
        policy_revision=engine.revision,
        when_unrecorded=WhenUnrecorded.REFUSE if mode is Mode.ENFORCE else WhenUnrecorded.ADMIT,
    )


@pytest.mark.parametrize("mode", Mode)
async def test_access_review_that_fails_is_an_error(
    engine: EmbeddedEngine, folder: Folder, mode: Mode
) -> None:
    """Refused where the namespace enforces; admitted, and said to be an error, elsewhere."""
    folder.namespace("train", mode=mode.value)
    cluster = Watched(folder.cluster(), fails=frozenset("*"))
    decision = await decide(cluster, engine, request(pod()))
    expected = failed(engine, "access-review", NO_ANSWER.format("pss-restricted"), mode)
    assert without_evidence(decision) == expected


async def test_error_has_no_finding_and_a_denial_has_no_error(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """The two are told apart by verdict, kind and message."""
    cluster = folder.cluster()
    denied = await decide(cluster, engine, request(pod(hostNetwork=True)))
    error = await decide(
        Watched(cluster, fails=frozenset("*")), engine, request(pod(hostNetwork=True))
    )
    assert (denied.verdict, denied.error_kind, denied.reason) == (Verdict.DENY, None, "")
    assert "error" not in denied.message
    assert (error.verdict, error.error_kind) == (Verdict.ERROR, "access-review")
    assert error.findings == []


@pytest.mark.parametrize(
    ("fails", "verdict", "profile"),
    [
        # In the order of choice: pss-restricted, then a, b, c (one batch), then d.
        ({"a"}, Verdict.ALLOW, "pss-restricted"),
        ({"a", "b", "c", "d"}, Verdict.ALLOW, "pss-restricted"),
        ({"pss-restricted"}, Verdict.ERROR, None),
    ],
)
async def test_answers_past_the_chosen_profile_do_not_matter(
    engine: EmbeddedEngine,
    folder: Folder,
    fails: set[str],
    verdict: Verdict,
    profile: str | None,
) -> None:
    """What was asked ahead, and failed, refuses nobody who may use an earlier profile."""
    for name in "abcd":
        folder.profile(name, 150, "**")
    cluster = Watched(folder.cluster(), fails=frozenset(fails))
    decision = await decide(cluster, engine, request(pod()))
    assert (decision.verdict, decision.profile) == (verdict, profile)


async def test_failure_before_a_usable_profile_is_an_error(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """The earlier might have been the right one: a decision must not depend on luck."""
    folder.profile("a", 10, "host/network").profile("b", 20, "host/network")
    folder.grant("Group:researchers", "b")
    cluster = Watched(folder.cluster(), fails=frozenset("a"))
    decision = await decide(cluster, engine, request(pod(hostNetwork=True)))
    assert without_evidence(decision) == failed(engine, "access-review", NO_ANSWER.format("a"))


async def test_advice_that_cannot_be_had_leaves_the_denial(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """The refusal is settled once no covering profile may be used; only the words suffer."""
    cluster = Watched(folder.cluster(), fails=frozenset({"pss-restricted", "pss-baseline"}))
    decision = await decide(cluster, engine, request(pod(hostNetwork=True)))
    assert decision.verdict is Verdict.DENY
    assert [finding.rule for finding in decision.findings] == ["privileges/host/network"]


@pytest.mark.parametrize(
    ("lost", "reason"),
    [
        ("namespaces", "namespace train is unknown"),
        ("profiles", "the profiles have not been loaded"),
    ],
)
async def test_what_is_not_synced_is_an_error(
    engine: EmbeddedEngine, folder: Folder, lost: str, reason: str
) -> None:
    """Nothing is allowed because something has not loaded yet, system:masters' Pods included."""
    cluster = Watched(folder.cluster(), lost=lost)
    decision = await decide(cluster, engine, request(pod(), ADMIN))
    assert without_evidence(decision) == failed(engine, "not-synced", reason)
    assert judge_of(cluster, engine).missing() == [lost]


async def test_unknown_namespace_enforces_whatever_the_default(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """Without its labels nobody can say that it does not."""
    cluster = Watched(folder.cluster(), lost="namespaces")
    decision = await decide(cluster, engine, request(pod()), mode=Mode.AUDIT)
    assert (decision.allowed, decision.mode) == (False, "enforce")


async def test_policies_that_fail_are_an_error(
    folder: Folder, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A rule that does not end, and a Pod that sets it going; others are judged as ever."""
    slow = "\n\t".join(f"some {v} in numbers.range(1, 3000)" for v in "abcd") + "\n\ta + b < c - d"
    bundle = make_bundle(tmp_path_factory.mktemp("slow"), {"x.rego": rule(slow)})
    engine = EmbeddedEngine(read_bundle(bundle), EvaluationLimits(seconds=0.3))
    cluster = folder.cluster()
    decision = await decide(cluster, engine, request(pod(os={"name": "trigger"}), ADMIN))
    with pytest.raises(EvaluationError) as error:
        engine.evaluate(b'{"os":"trigger","containers":[]}')
    assert decision.error_kind == "evaluation"
    assert without_evidence(decision) == failed(engine, "evaluation", decision.reason)
    assert decision.reason.startswith("the policies could not be evaluated: ")
    assert str(error.value).startswith("the policies could not be evaluated: ")
    assert (await decide(cluster, engine, request(pod()))).verdict is Verdict.ALLOW
    engine.close()


async def test_mutating_pass_refuses_nothing_that_it_cannot_judge(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """It notes nothing, warns of nothing and lets the validating pass refuse."""
    judge = judge_of(Watched(folder.cluster(), fails=frozenset("*")), engine)
    decision = await judge.mutate(request(pod()), budget=5.0)
    assert decision.verdict is Verdict.ERROR
    assert (decision.allowed, decision.recorded, decision.warnings) == (True, {}, [])
