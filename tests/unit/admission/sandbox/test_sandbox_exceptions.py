"""An exception takes the demand for a sandbox away; privileges by exception are risks."""

from typing import Any

import pytest

from core.decision.decision import Verdict
from policies.engine.embedded_engine import EmbeddedEngine
from sandbox.runtime_choice import SandboxSettings
from tests.unit.admission.approvals.test_break_glass import opened
from tests.unit.admission.approvals.test_exceptions import ANN, BEN, NOW, approved, written
from tests.unit.admission.sandbox.sandbox_cluster import (
    NETWORK,
    SET,
    Saying,
    final,
    judge,
    labelled,
    mutated,
    namespace,
    pod,
    profiled,
    runtime_class,
)
from tests.unit.admission.world import Folder, request, rules


def excusing(folder: Folder, *people: Any) -> Folder:
    """Add an exception from the sandbox for the Pod of the tests, approved by some."""
    for who in (ANN, BEN):
        folder.grant(f"User:{who.username}", "exceptions", verb="approve", resource="approvaltiers")
    item = written(excuses=[{"rule": "sandbox/required"}])
    folder.documents.extend([item, *(approved(item, who) for who in people)])
    return folder


async def test_two_approvers_take_the_demand_away(engine: EmbeddedEngine, folder: Folder) -> None:
    """Then nothing is set and nothing demanded; the decision says by which exception."""
    excusing(runtime_class(profiled(namespace(folder, "required"), "wide", None)), ANN, BEN)
    by = judge(folder.cluster(), Saying(engine, (), (NETWORK,)), clock=lambda: NOW)
    assert (await mutated(by, request(pod()))).filled == []
    decision = await final(by, request(pod()))
    assert decision.verdict is Verdict.ALLOW
    assert decision.evidence.exceptions == ("net@uid-1",)
    assert decision.sandbox is not None
    assert decision.sandbox.excused
    asked = await final(by, request(labelled("required")))
    assert rules(asked) == [("sandbox/incompatible", None)]


async def test_sandbox_exception_of_one_approver_does_not_help(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """And who is refused is told why the exception does not help."""
    excusing(runtime_class(profiled(namespace(folder, "required"), "wide", None)), ANN)
    by = judge(folder.cluster(), engine, clock=lambda: NOW)
    assert (await mutated(by, request(pod()))).filled == SET
    decision = await final(by, request(pod()))
    assert rules(decision) == [("sandbox/required", None)]
    assert "PolicyException net names it, but is not in force" in decision.message


async def test_a_privilege_by_exception_counts_as_risk(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """The same privilege that a profile grants does not."""
    for who in (ANN, BEN):
        folder.grant(f"User:{who.username}", "exceptions", verb="approve", resource="approvaltiers")
    item = written(excuses=[{"privilege": "host/pid"}])
    folder.documents.extend([item, *(approved(item, who) for who in (ANN, BEN))])
    runtime_class(namespace(folder, "by-risk"))
    site = SandboxSettings(points={"privileges/host/pid": 77})
    by = judge(folder.cluster(), engine, site, clock=lambda: NOW)
    decision = await final(by, request(pod(hostPID=True)))
    assert decision.evidence.exceptions == ("net@uid-1",)
    assert decision.sandbox is not None
    assert (decision.sandbox.score, decision.sandbox.runtime) == (77, "gvisor")
    profiled(folder, "wide", None)
    granted = judge(folder.cluster(), engine, site, clock=lambda: NOW)
    found = (await final(granted, request(pod(hostPID=True)))).sandbox
    assert found is not None
    assert (found.score, found.runtime) == (0, "")


@pytest.mark.parametrize("broken", [{}, {"privileges": ["host/network"]}])
async def test_a_break_glass_relaxes_no_rule_of_the_sandbox(
    engine: EmbeddedEngine, folder: Folder, broken: dict[str, Any]
) -> None:
    """Neither what cannot run there nor the class, whatever it relaxes of profiles."""
    runtime_class(namespace(folder, "required"))
    for who in (ANN, BEN):
        folder.grant(
            f"User:{who.username}", "break-glass", verb="approve", resource="approvaltiers"
        )
    folder.documents.extend(opened(**broken))
    by = judge(folder.cluster(), engine, clock=lambda: NOW)
    incompatible = await final(by, request(pod(hostNetwork=True)))
    assert not incompatible.allowed
    assert "sandbox/incompatible" in {rule for rule, _ in rules(incompatible)}
    lacking = await final(by, request(pod()))
    assert not lacking.allowed
    assert "sandbox/required" in {rule for rule, _ in rules(lacking)}
