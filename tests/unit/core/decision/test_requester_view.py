"""What the requester of a decision reads of it: no risk, and of others nothing."""

import msgspec
import pytest

from core.decision.decision import Action, Finding
from core.decision.document import CountedSignal, Isolated
from core.decision.requester_view import ELSEWHERE_RULE, view_for_requester
from core.people.subject import Subject
from tests.unit.core.decision.test_golden_documents import FIRST

ANN = Subject("ann@example.com")
CODE = CountedSignal("sandbox/code/shell", 20, "spec.containers[0]", "pipes into a shell")
PERSON = CountedSignal("sandbox/identity/new", 30, "", "made an hour ago")


def of_stranger(*findings: Finding) -> list[Finding]:
    """Return the findings that are told of a decision whose caller proved nothing."""
    document = msgspec.structs.replace(FIRST, caller_known=False, findings=list(findings))
    return view_for_requester(document, ANN, names=False).findings


@pytest.mark.parametrize("action", list(Action))
@pytest.mark.parametrize("rule", ["field/unknown", "approvals/stated", "egress/broad"])
def test_what_the_object_says_is_told_as_in_the_answer(rule: str, action: Action) -> None:
    """Who reads less in `explain` than in the refusal is sent around in a circle."""
    finding = Finding(rule, action, "spec.hostUsers", "is so", "Change it.")
    assert of_stranger(finding) == [finding]


def test_of_others_a_refusal_says_its_rule_and_a_warning_nothing() -> None:
    """A role, a Pod or a volume that the object names is not its own."""
    refused = Finding("weights/grant", Action.DENY, "spec", "store llama", "Ask ann.")
    (told,) = of_stranger(refused)
    assert (told.rule, told.path, told.message) == ("weights/grant", "", "is refused by this rule")
    elsewhere = Finding("privileges/host/pid", Action.DENY, "roleRef", "host/pid", "", "host/pid")
    assert [each.rule for each in of_stranger(elsewhere)] == [ELSEWHERE_RULE]
    assert of_stranger(msgspec.structs.replace(refused, action=Action.WARN)) == []


@pytest.mark.parametrize(
    ("decided", "is_told"),
    [
        (Isolated("by-risk", score=20, threshold=20, signals=[CODE]), True),
        (Isolated("required"), True),
        (Isolated("by-risk", score=50, threshold=40, signals=[PERSON, CODE]), False),
        (Isolated("never", identity=True), False),
    ],
)
def test_a_sandbox_for_the_risk_of_people_has_no_reason(
    decided: Isolated, *, is_told: bool
) -> None:
    """A score that does not reach its threshold would say that somebody is at risk."""
    document = msgspec.structs.replace(FIRST, isolation=decided)
    told = view_for_requester(document, ANN, names=False).isolation
    assert told == (decided if is_told else None)
