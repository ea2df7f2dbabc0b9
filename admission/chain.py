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
from admission.facts import Facts
from admission.outcome import Outcome
from core.request import Request

Check = Callable[[Request, Facts], Outcome]

CHAIN: Final[tuple[Check, ...]] = (
    namespace_marks,
    guards,
    risk,
    egress,
    denials,
    profiles,
    sandboxing,
    notes,
    beside_egress,
)


def run(request: Request, facts: Facts) -> list[Outcome]:
    """Run every check; all findings of a request are shown at once."""
    silent = facts.notes is None and facts.egress is None and facts.risk is None
    if facts.left_alone and silent:
        return []
    return [check(request, facts) for check in CHAIN]
