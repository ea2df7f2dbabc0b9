"""What a rule denies is refused to everyone, and said once."""

from core.decision.decision import Verdict
from policies.engine.embedded_engine import EmbeddedEngine
from tests.unit.admission.world import ADMIN, Folder, decide, pod, request, rules

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
