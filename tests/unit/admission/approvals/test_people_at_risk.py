"""What people at risk wrote, approved or opened, as a review of a Pod sees it."""

from collections.abc import Callable

import pytest

from admission.gather import Gatherer
from admission.judge import Judge
from core.approvals.break_glass import parse_break_glass
from core.base.errors import InvalidObjectError
from core.decision.decision import Decision, Verdict
from core.people.subject import Subject
from core.people.two_person import ApprovalTerms, AtRisk, person_of, write_person
from identity.subjects import Controllers
from policies.engine.embedded_engine import EmbeddedEngine
from tests.unit.admission.approvals import test_break_glass as glass
from tests.unit.admission.approvals import test_exceptions as excepting
from tests.unit.admission.approvals.test_exceptions import ANN, AUTHOR, BEN, NOW, ON_HOST
from tests.unit.admission.counting_cluster import Watched
from tests.unit.admission.world import raw, request

world = excepting.world
broken = glass.world
MADE = "2026-05-31T22:00:00Z"
"""Two hours before `NOW`: when the approvals were given."""
HOUR = 3600.0
CARL = Subject("carl@example.com")


def terms(*people: Subject, sure_before: float = 0.0, suspends: bool = False) -> ApprovalTerms:
    """Say that these people are at risk."""
    risky = frozenset().union(*(person_of(each) for each in people))
    found = AtRisk(sure_before)
    return ApprovalTerms(
        at_risk=lambda marks: found if risky & set(marks) else None, suspends=suspends
    )


async def decide(
    cluster: Watched, engine: EmbeddedEngine, said: ApprovalTerms, made: dict[str, object]
) -> Decision:
    """Judge a Pod of Alice's."""
    judge = Judge(Gatherer(cluster, engine, Controllers(), terms=said, clock=lambda: NOW))
    return await judge.validate(request(made), budget=10)


async def test_an_exception_is_suspended_while_its_author_is_at_risk(
    engine: EmbeddedEngine, world: Callable[..., Watched]
) -> None:
    """And says so to whoever is refused. Without the setting it stays in force."""
    item = excepting.written()
    cluster = world(item, excepting.approved(item, ANN), excepting.approved(item, BEN))
    made = ON_HOST | {"metadata": {"name": excepting.NAME, "namespace": "train"}}
    for said, verdict in (
        (terms(AUTHOR), Verdict.ALLOW),
        (terms(ANN, suspends=True), Verdict.DENY),
        (terms(AUTHOR, suspends=True), Verdict.DENY),
        (terms(suspends=True), Verdict.ALLOW),
    ):
        decision = await decide(cluster, engine, said, made)
        assert decision.verdict is verdict
    refused = await decide(cluster, engine, terms(AUTHOR, suspends=True), made)
    assert "its author is at risk: suspended until the risk is gone" in str(refused)


@pytest.mark.parametrize(
    ("sure_before", "verdict"),
    [(NOW - HOUR, Verdict.WARN), (NOW - 3 * HOUR, Verdict.DENY), (0.0, Verdict.DENY)],
    ids=["approved before anything was stolen", "approved since", "nothing is sure"],
)
async def test_a_break_glass_that_was_approved_long_before_a_risk_stays_open(
    engine: EmbeddedEngine,
    broken: Callable[..., Watched],
    sure_before: float,
    verdict: Verdict,
) -> None:
    """Both approvers are at risk now, as when Entra is wrong about many."""
    item = glass.sealed()
    consents = [glass.consent(item, who, creationTimestamp=MADE) for who in (ANN, BEN)]
    said = terms(ANN, BEN, sure_before=sure_before)
    decision = await decide(broken(item, *consents), engine, said, ON_HOST)
    assert decision.verdict is verdict


@pytest.mark.parametrize(
    ("sure_before", "verdict"), [(NOW - 2 * HOUR, Verdict.DENY), (NOW, Verdict.WARN)]
)
async def test_a_break_glass_that_a_thief_opened_relaxes_nothing(
    engine: EmbeddedEngine,
    broken: Callable[..., Watched],
    sure_before: float,
    verdict: Verdict,
) -> None:
    """It was opened half an hour ago: before, or since the session may have been stolen."""
    item = glass.sealed()
    item["metadata"]["annotations"]["sallyport.dev/activated-by"] = write_person(person_of(CARL))
    consents = [glass.consent(item, who, creationTimestamp=MADE) for who in (ANN, BEN)]
    said = terms(CARL, sure_before=sure_before)
    cluster = broken(item, *consents)
    assert (await decide(cluster, engine, said, ON_HOST)).verdict is verdict


@pytest.mark.parametrize("rule", ["identity/risk", "identity/stale"])
def test_a_break_glass_can_name_the_rules_of_risk(rule: str) -> None:
    """By themselves, or with everything."""
    named = parse_break_glass(raw(glass.sealed(rules=[rule])))
    assert named.relaxes(rule, ())
    assert not named.relaxes("identity/other", ())
    everything = parse_break_glass(raw(glass.sealed(rules=["*"])))
    assert everything.relaxes(rule, ())
    other = parse_break_glass(raw(glass.sealed(rules=["privileges/host/network"])))
    assert not other.relaxes(rule, ())


@pytest.mark.parametrize(
    "rule", ["identity/behaviour", "identity/risk/x", "identity", "approvals/own"]
)
def test_it_names_no_other_rule_of_identity(rule: str) -> None:
    """The message says what it may name."""
    with pytest.raises(InvalidObjectError, match="identity/risk or identity/stale"):
        parse_break_glass(raw(glass.sealed(rules=[rule])))
