"""The chain of checks, in the order in which their findings are shown."""

from collections.abc import Callable
from typing import Final

from admission.approvals.check import guards
from admission.egress.check import beside_egress, egress
from admission.model.facts import Facts
from admission.model.outcome import Outcome
from admission.objects.namespace_marks import namespace_marks
from admission.profiles.check import profiles
from admission.profiles.denials import denials
from admission.requester.check import notes
from admission.risk.check import risk
from admission.sandbox.check import sandboxing
from admission.site_rules.check import site_denials, site_warnings
from admission.weights.check import weights
from core.decision.request import Request

Check = Callable[[Request, Facts], Outcome]

CHAIN: Final[tuple[Check, ...]] = (
    namespace_marks,
    guards,
    risk,
    weights,
    egress,
    denials,
    site_denials,
    profiles,
    sandboxing,
    notes,
    site_warnings,
    beside_egress,
)


def run(request: Request, facts: Facts) -> list[Outcome]:
    """Run every check; all findings of a request are shown at once."""
    noted = facts.notes is not None or facts.egress is not None or facts.ruled is not None
    speaks = noted or facts.risk is not None or facts.weights is not None
    if facts.left_alone and not speaks:
        return []
    return [check(request, facts) for check in CHAIN]
