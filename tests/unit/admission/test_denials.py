"""What a rule denies is refused to everyone, and said once."""

import msgspec

from core.decision.decision import Verdict
from policies.engine.embedded_engine import EmbeddedEngine
from tests.unit.admission.world import ADMIN, ID, Folder, decide, pod, request, rules

FLAG = "dev.gvisor.flag.debug"
RULE = "rules/runtime/annotations"


async def test_no_right_makes_a_denial_good(folder: Folder, engine: EmbeddedEngine) -> None:
    """An administrator who may use every profile is refused as well."""
    folder.grant("Group:system:masters")
    asked = request(pod(annotations={FLAG: "true"}), ADMIN)
    decision = await decide(folder.cluster(), engine, asked)
    assert decision.verdict is Verdict.DENY
    assert rules(decision) == [(RULE, None)]
    assert decision.findings[0].path == f"metadata.annotations['{FLAG}']"
    assert FLAG in decision.message
    assert decision.message.splitlines()[0].endswith("It asks for what nobody may have.")


async def test_denials_and_privileges_are_said_together(
    folder: Folder, engine: EmbeddedEngine
) -> None:
    """One message holds all that is wrong."""
    asked = request(pod(annotations={FLAG: "true"}, hostNetwork=True))
    decision = await decide(folder.cluster(), engine, asked)
    assert rules(decision) == [(RULE, None), ("privileges/host/network", "host/network")]


async def test_a_namespace_that_only_warns_lets_it_in(
    folder: Folder, engine: EmbeddedEngine
) -> None:
    """As every other refusal."""
    folder.namespace("train", mode="warn")
    asked = request(pod(annotations={FLAG: "true"}))
    decision = await decide(folder.cluster(), engine, asked)
    assert decision.allowed
    assert decision.verdict is Verdict.WARN


async def test_a_dry_run_names_no_decision(folder: Folder, engine: EmbeddedEngine) -> None:
    """None is kept of it, so nobody could look it up; the same request in earnest names its own."""
    earnest = request(pod(annotations={FLAG: "true"}))
    refused = await decide(folder.cluster(), engine, msgspec.structs.replace(earnest, dry_run=True))
    assert refused.verdict is Verdict.DENY
    assert ID not in refused.message
    assert refused.message.splitlines()[-1] == "A dry run: no decision is on record"
    assert (await decide(folder.cluster(), engine, earnest)).message.endswith(f"\nDecision {ID}")
    folder.namespace("train", mode="warn")
    warned = await decide(folder.cluster(), engine, msgspec.structs.replace(earnest, dry_run=True))
    assert warned.warnings
    assert not any("decision" in line for line in warned.warnings)


async def test_an_error_of_a_dry_run_names_no_decision(
    folder: Folder, engine: EmbeddedEngine
) -> None:
    """As a denial."""
    broken = request({"apiVersion": "v1", "kind": "Pod", "spec": {"containers": 3}})
    asked = msgspec.structs.replace(broken, dry_run=True)
    decision = await decide(folder.cluster(), engine, asked)
    assert decision.verdict is Verdict.ERROR
    assert decision.message.endswith("\nA dry run: no decision is on record")
