"""Fields that nobody has judged warn, or refuse where the namespace or the installation says so."""

from admission.fields.facts import UNKNOWN
from admission.model.facts import Facts
from admission.model.outcome import NOTHING, Outcome
from core.decision.decision import Finding
from core.decision.request import Request

_HEADLINE = "It has fields that this gate does not know."


def check_fields(_: Request, facts: Facts) -> Outcome:
    """Tell of the fields that the table does not know."""
    if facts.fields is None:
        return NOTHING
    return Outcome(facts.fields.unknown, _HEADLINE, told=True)


def is_of_field(finding: Finding) -> bool:
    """Return whether a finding is of a field that nobody has judged."""
    return finding.rule == UNKNOWN
