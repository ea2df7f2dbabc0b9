"""What another object holds is decided once: answers and the requester's view keep the same."""

import pytest

from admission.answers import publish_outcomes
from admission.model.facts import Facts
from admission.model.outcome import Outcome
from core.decision.decision import Action, Finding
from core.decision.requester_view import ELSEWHERE_RULE
from core.profiles.container_profiles import ProfileSet
from policies.bundle.format import Rule
from tests.unit.core.decision.test_requester_view import of_stranger

RULE = "privileges/host/pid"
CLAIM = "persistentVolumeClaim"


def rule_told_by_both(rule: str, path: str) -> str:
    """Return the rule that a stranger reads, in the answer as by `sallyport explain`."""
    finding = Finding(rule, Action.DENY, path, "needs it", "Remove it.", "host/pid")
    facts = Facts(ProfileSet("", ()), "", {RULE: Rule(RULE, "", "", "", "", 1)})
    (answered,) = publish_outcomes([Outcome((finding,))], facts)
    (viewed,) = of_stranger(finding)
    assert answered.findings[0].rule == viewed.rule
    return viewed.rule


@pytest.mark.parametrize("rule", [RULE, "rules/runtime/annotations", "profiles/more"])
@pytest.mark.parametrize(
    "path",
    [
        "spec.hostPID of Pod llama-0",
        "roleRef",
        "roleRef.name",
        f"spec.volumes[0].{CLAIM}",
        f"spec.template.spec.volumes[3].{CLAIM}.hostPath",
        "spec.volumes[1].ephemeral.volumeClaimTemplate",
        "spec.volumeName",
    ],
)
def test_a_need_of_another_object_is_told_by_neither(rule: str, path: str) -> None:
    """Of a Pod that is entered, a role, a volume: who sent the review could name any."""
    assert rule_told_by_both(rule, path) == ELSEWHERE_RULE


@pytest.mark.parametrize(
    "path",
    [
        "spec.ephemeralContainers[0].securityContext.privileged",
        "spec.hostPID",
        "metadata.annotations[ephemeral]",
        "rules[0]",
    ],
)
def test_a_need_of_the_submitted_object_is_told_by_both(path: str) -> None:
    """A debugging container is the requester's own, and no volume."""
    assert rule_told_by_both(RULE, path) == RULE
