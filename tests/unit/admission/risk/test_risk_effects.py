"""What the risk table's effects do: allow, warn, run in a sandbox, refuse; and what is unusual."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.decision.decision import Action, Verdict
from core.risk.model import Behaviour, RiskLevel
from core.risk.snapshot import RiskSnapshot
from policies.engine.embedded_engine import EmbeddedEngine
from tests.unit.admission.objects.test_entering_pods import shell
from tests.unit.admission.requester.test_noted_workloads import asked
from tests.unit.admission.risk.cluster_at_risk import (
    CAROL,
    DAVE,
    EVENT,
    account,
    decide,
    everyone,
    mutated,
    of_table,
    said,
    snapshot,
)
from tests.unit.admission.sandbox.sandbox_cluster import pod, workload
from tests.unit.admission.world import Folder, request

MEDIUM, LOW, HIGH = (
    snapshot(CAROL),
    snapshot(CAROL, level=RiskLevel.LOW),
    snapshot(CAROL, level=RiskLevel.HIGH),
)


async def test_a_refusal_says_who_what_until_when(engine: EmbeddedEngine, folder: Folder) -> None:
    """In the first line that it is the risk; then the level, the time, the event, what is left."""
    decision = await decide(everyone(folder), engine, HIGH, request(pod(), CAROL))
    first, *rest = decision.message.splitlines()
    assert first == (
        "Pod train/llama-0: Your account is at risk (level high, since 2026-11-22T07:30Z)."
    )
    text = "\n".join(rest)
    assert "https://mysignins.microsoft.com" in text
    assert f"event {EVENT}" in text
    assert "row shipped/high of the risk table" in text
    assert "rule identity/risk" in text


async def test_a_refusal_says_what_may_be_done_meanwhile(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """As the table says of the same person here."""
    decision = await decide(everyone(folder), engine, MEDIUM, shell(CAROL))
    assert decision.verdict is Verdict.DENY
    assert "Until then you may still: start workloads, ask for exceptions" in decision.message


async def test_a_warning_is_told_to_who_is_admitted(engine: EmbeddedEngine, folder: Folder) -> None:
    """Each line fits into what kubectl shows of a warning, and the second says what to do."""
    decision = await decide(everyone(folder), engine, LOW, request(pod(), CAROL))
    assert (decision.verdict, decision.allowed) == (Verdict.WARN, True)
    assert decision.profile == "all"
    assert decision.warnings[0] == ("your account is at risk (level low, since 2026-11-22T07:30Z)")
    assert EVENT in decision.warnings[1]
    assert all(len(line) < 256 for line in decision.warnings)


@pytest.mark.parametrize("mode", ["warn", "audit"])
async def test_namespaces_that_do_not_enforce_refuse_nothing(
    engine: EmbeddedEngine, folder: Folder, mode: str
) -> None:
    """It is admitted, with a warning or in silence; the record has it."""
    decision = await decide(everyone(folder, mode), engine, HIGH, request(pod(), CAROL))
    assert (decision.verdict, decision.allowed) == (Verdict.WARN, True)
    assert bool(decision.warnings) is (mode == "warn")
    assert said(decision) == [("identity/risk", Action.WARN, "")]


async def test_rows_of_the_site_come_first(engine: EmbeddedEngine, folder: Folder) -> None:
    """By class of the namespace and group too; their words are in the message."""
    known = of_table(
        "deny", operations=["create-workload"], namespaces=["secret"], message="Call 42."
    )
    asks = request(pod(), CAROL)
    elsewhere = await decide(everyone(folder), engine, known, asks)
    assert elsewhere.sandbox is not None
    refused = await decide(everyone(folder, risk_class="secret"), engine, known, asks)
    assert refused.verdict is Verdict.DENY
    assert "Call 42." in refused.message
    assert "row ours" in refused.message
    assert refused.evidence.risk[0].row == "ours"


@pytest.mark.parametrize(
    ("choice", "verdict", "effect"),
    [
        (None, Verdict.WARN, "warn"),
        ("allow", Verdict.ALLOW, "allow"),
        ("deny", Verdict.DENY, "deny"),
        ("sandbox", Verdict.DENY, "sandbox"),
        ("whatever", Verdict.DENY, "deny"),
    ],
)
async def test_what_is_not_known_is_the_namespaces_choice(
    engine: EmbeddedEngine, folder: Folder, choice: str | None, verdict: Verdict, effect: str
) -> None:
    """An empty snapshot, as at the first start: it says so, and is no error."""
    labels = {"when_risk_stale": choice} if choice else {}
    folder = everyone(folder, **labels)
    decision = await decide(folder, engine, RiskSnapshot(), request(pod(), CAROL))
    assert decision.verdict is verdict
    assert decision.error_kind is None
    assert [each.effect for each in decision.evidence.risk] == [effect]
    rules = {rule for rule, _, _ in said(decision)}
    assert rules == (set() if choice == "allow" else {"identity/stale"})


async def test_who_was_at_risk_stays_so_when_data_is_old(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """Nobody is cleared by Entra being away, whatever the namespace chose."""
    known = snapshot(CAROL, level=RiskLevel.HIGH, coverage=RiskSnapshot().head.users)
    folder = everyone(folder, when_risk_stale="allow")
    decision = await decide(folder, engine, known, request(pod(), CAROL))
    assert decision.verdict is Verdict.DENY


async def test_what_is_unusual_warns_and_never_refuses(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """In its own words; it is on record, and what policies see."""
    known = snapshot(acting=Behaviour.UNUSUAL_HOUR | Behaviour.EXEC_BURST)
    decision = await decide(everyone(folder), engine, known, request(pod(), CAROL))
    assert (decision.verdict, decision.allowed) == (Verdict.WARN, True)
    assert said(decision) == [("identity/behaviour", Action.WARN, "")]
    assert "unusual-hour, exec-burst" in decision.warnings[0]
    assert decision.evidence.behaviour == ("unusual-hour", "exec-burst")
    assert (await decide(folder, engine, known, request(pod(), DAVE))).verdict is Verdict.ALLOW


async def test_risk_adds_to_the_score(engine: EmbeddedEngine, folder: Folder) -> None:
    """Where the score decides: the signal names the role and the level, and no id."""
    known = of_table("warn")
    folder = everyone(folder, sandbox="by-risk")
    decision = await decide(folder, engine, known, request(pod(), CAROL))
    assert decision.sandbox is not None
    assert [(each.rule, each.points) for each in decision.sandbox.signals] == [
        ("sandbox/identity/risk", 40)
    ]
    assert decision.sandbox.signals[0].reason == "is of an identity at risk: medium (requester)"


async def test_no_note_is_missed_on_what_is_refused_for_a_risk(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """The mutating pass notes nothing on it, and the refusal says the one thing that is wrong."""
    made = workload()
    folder = everyone(folder)
    assert (await mutated(folder, engine, HIGH, asked(made, CAROL))).recorded == {}
    decision = await decide(folder, engine, HIGH, asked(made, CAROL))
    assert {each.rule for each in decision.findings} == {"identity/risk"}


async def test_what_is_judged_by_itself_is_judged_for_nobody(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """What a profile would say of an object does not depend on who asks."""
    asks = request(pod(), CAROL, asked_profile="all")
    assert (await decide(everyone(folder), engine, HIGH, asks)).verdict is Verdict.ALLOW


EFFECTS = st.sampled_from([*RiskLevel])


@settings(
    deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    person=EFFECTS,
    client=EFFECTS,
    mode=st.sampled_from(["enforce", "warn", "audit"]),
    sandbox=st.sampled_from([None, "by-risk", "required"]),
    runtime=st.sampled_from([None, "gvisor", "other"]),
    acting=st.sampled_from([None, Behaviour.DENIALS]),
)
async def test_risk_never_makes_an_answer_milder(  # noqa: PLR0913, PLR0917
    engine: EmbeddedEngine,
    folder: Folder,
    person: RiskLevel,
    client: RiskLevel,
    mode: str,
    sandbox: str | None,
    runtime: str | None,
    acting: Behaviour | None,
) -> None:
    """Whatever is known of whom: what was refused without it is refused, for the same reasons."""
    labels = {"sandbox": sandbox} if sandbox else {}
    account(everyone(folder, mode, **labels), "robot")
    spec = {"runtimeClassName": runtime} if runtime else {}
    made = pod(serviceAccountName="robot", **spec)
    made["metadata"]["labels"] = {"azure.workload.identity/use": "true"}
    asks = request(made, CAROL)
    known = snapshot(CAROL, level=person, client=client, acting=acting)
    without = await decide(folder, engine, None, asks)
    judged = await decide(folder, engine, known, asks)
    assert judged.allowed <= without.allowed
    assert {f.rule for f in without.findings} <= {f.rule for f in judged.findings}
    if without.sandbox is not None and without.sandbox.runtime:
        assert judged.sandbox is not None
        assert judged.sandbox.runtime == without.sandbox.runtime
