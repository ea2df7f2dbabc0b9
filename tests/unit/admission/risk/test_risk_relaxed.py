"""What helps against a risk that is wrong: a BreakGlass does, an exception does not."""

from typing import Any

import pytest

from core.decision.decision import Action, Decision, Verdict
from core.decision.request import Request
from core.risk.model import RiskLevel
from core.risk.snapshot import Coverage, RiskSnapshot
from policies.engine.embedded_engine import EmbeddedEngine
from tests.unit.admission.approvals.test_break_glass import opened
from tests.unit.admission.approvals.test_exceptions import ANN, BEN, NOW, approved, written
from tests.unit.admission.objects.test_entering_pods import shell
from tests.unit.admission.risk.cluster_at_risk import CAROL, decide, everyone, said, snapshot
from tests.unit.admission.sandbox.sandbox_cluster import pod
from tests.unit.admission.world import Folder, request

KEPT_UP = Coverage(as_of=NOW - 10)
HIGH = snapshot(CAROL, level=RiskLevel.HIGH, coverage=KEPT_UP)
MEDIUM = snapshot(CAROL, coverage=KEPT_UP)


def breaking(folder: Folder, *rules: str, **labels: str) -> Folder:
    """Return the world with an open BreakGlass that Ann and Ben approved."""
    everyone(folder, **labels)
    for who in (ANN, BEN):
        folder.grant(
            f"User:{who.username}", "break-glass", verb="approve", resource="approvaltiers"
        )
    folder.documents += opened(rules=list(rules))
    return folder


async def _at_that_time(
    folder: Folder, engine: EmbeddedEngine, known: RiskSnapshot, asks: Request
) -> Decision:
    return await decide(folder, engine, known, asks, now=NOW)


@pytest.mark.parametrize("rule", ["*", "identity/risk"])
@pytest.mark.parametrize("known", [HIGH, MEDIUM], ids=["denied", "sandboxed"])
@pytest.mark.parametrize(
    "asks", [request(pod(hostNetwork=True), CAROL), shell(CAROL)], ids=["create", "enter"]
)
async def test_a_break_glass_relaxes_what_is_wrong(
    engine: EmbeddedEngine, folder: Folder, rule: str, known: RiskSnapshot, asks: Request
) -> None:
    """Loudly: a Pod that no sandbox can run, too, where the risk alone demands one."""
    decision = await _at_that_time(breaking(folder, rule), engine, known, asks)
    assert (decision.verdict, decision.allowed) == (Verdict.WARN, True)
    assert decision.evidence.break_glass == ("fire@uid-1",)
    assert "identity/risk" in {rule for rule, _, _ in said(decision)}
    assert "BREAK GLASS: fire" in decision.warnings[0]


@pytest.mark.parametrize(
    ("rule", "allowed"),
    [("*", True), ("identity/stale", True), ("identity/risk", False)],
)
async def test_a_break_glass_relaxes_what_is_not_known(
    engine: EmbeddedEngine, folder: Folder, rule: str, *, allowed: bool
) -> None:
    """Where Entra is down and the namespace refuses; only what it names."""
    folder = breaking(folder, rule, when_risk_stale="deny")
    decision = await _at_that_time(folder, engine, RiskSnapshot(), request(pod(), CAROL))
    assert decision.allowed is allowed


async def test_a_break_glass_of_other_rules_relaxes_no_risk(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """What is sealed for the fabric does not let in who is compromised."""
    folder = breaking(folder, "privileges/host/network")
    decision = await _at_that_time(folder, engine, HIGH, request(pod(), CAROL))
    assert said(decision) == [("identity/risk", Action.DENY, "")]
    assert not decision.allowed


def excused(folder: Folder, *excuses: dict[str, Any]) -> Folder:
    """Return the world with an exception for the Pod that Ann and Ben approved."""
    everyone(folder)
    for who in (ANN, BEN):
        folder.grant(f"User:{who.username}", "exceptions", verb="approve", resource="approvaltiers")
    item = written(excuses=list(excuses))
    folder.documents += [item, approved(item, ANN), approved(item, BEN)]
    return folder


async def test_an_exception_of_the_sandbox_was_not_approved_for_a_risk(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """Two people said that the workload may do without one, before anybody had its author."""
    folder = excused(folder, {"rule": "sandbox/required"})
    decision = await _at_that_time(folder, engine, MEDIUM, request(pod(), CAROL))
    assert ("identity/risk", Action.DENY, "spec.runtimeClassName") in said(decision)
    assert decision.evidence.exceptions == ()
    folder.documents[0]["metadata"]["labels"]["sallyport.dev/sandbox"] = "required"
    both = await _at_that_time(folder, engine, MEDIUM, request(pod(), CAROL))
    assert ("identity/risk", Action.DENY, "spec.runtimeClassName") in said(both)
    alone = await _at_that_time(folder, engine, snapshot(coverage=KEPT_UP), request(pod(), CAROL))
    assert alone.allowed
