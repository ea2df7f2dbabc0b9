"""The chain of checks, in the order in which their findings are shown."""

from collections.abc import Callable
from typing import Final

from admission.checks.denials import denials
from admission.checks.egress import beside_egress, egress
from admission.checks.guards import guards
from admission.checks.namespace_marks import namespace_marks
from admission.checks.notes import notes
from admission.checks.profiles import profiles
from admission.checks.risk import risk
from admission.checks.sandboxing import sandboxing
from admission.checks.site_rules import site_denials, site_warnings
from admission.checks.weights import weights
from admission.facts import Facts
from admission.outcome import Outcome
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
