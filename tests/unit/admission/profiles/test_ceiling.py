"""A namespace's ceiling: profiles that no right exceeds."""

import pytest

from core.decision.decision import Verdict
from core.people.subject import Subject
from policies.engine.embedded_engine import EmbeddedEngine
from tests.unit.admission.world import ADMIN, ALICE, Folder, decide, pod, request


@pytest.mark.parametrize("subject", [ALICE, ADMIN])
@pytest.mark.parametrize(
    ("ceiling", "expected"),
    [
        (None, "net"),
        ("net", "net"),
        ("pss-restricted, net", "net"),
        ("late", "late"),
        ("pss-restricted", None),
        ("", None),
        ("*", None),
        ("ne", None),
        ("NET", None),
        ("gone", None),
    ],
)
async def test_no_right_exceeds_the_ceiling(
    engine: EmbeddedEngine,
    folder: Folder,
    subject: Subject,
    ceiling: str | None,
    expected: str | None,
) -> None:
    """Only listed profiles are tried, by whole names, for cluster-admin as for anyone."""
    folder.profile("net", 20, "host/network").profile("late", 30, "host/network")
    folder.grant("Group:researchers", "net", "late")
    if ceiling is not None:
        folder.namespace("train", ceiling=ceiling)
    asked = request(pod(hostNetwork=True), subject)
    decision = await decide(folder.cluster(), engine, asked)
    assert decision.profile == expected
    assert decision.verdict is (Verdict.ALLOW if expected else Verdict.DENY)


async def test_ceiling_holds_in_its_namespace_only(engine: EmbeddedEngine, folder: Folder) -> None:
    """Another namespace is as free as before."""
    folder.namespace("evals", ceiling="")
    asked = request(pod(hostNetwork=True), ADMIN)
    assert (await decide(folder.cluster(), engine, asked)).verdict is Verdict.ALLOW


async def test_refusal_offers_nothing_outside_the_ceiling(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """Nobody is sent to ask for a right that would not help."""
    folder.profile("net", 20, "host/network")
    folder.namespace("train", ceiling="pss-restricted,pss-baseline")
    decision = await decide(folder.cluster(), engine, request(pod(hostNetwork=True), ADMIN))
    assert [finding.covered_by for finding in decision.findings] == [[]]
    assert "No profile within the ceiling of this namespace covers all of it." in decision.message
    assert "ask for the right" not in decision.message


async def test_empty_ceiling_lets_nothing_in(engine: EmbeddedEngine, folder: Folder) -> None:
    """Not even a Pod that needs nothing: a namespace that is closed is closed."""
    folder.namespace("train", ceiling="")
    decision = await decide(folder.cluster(), engine, request(pod(), ADMIN))
    assert decision.verdict is Verdict.DENY
    assert [finding.rule for finding in decision.findings] == ["profiles/none"]
