"""The chain of checks, in the order in which their findings are shown."""

from collections.abc import Callable
from typing import Final

from admission.approvals.check import check_guards
from admission.egress.check import check_egress, check_host_network
from admission.model.facts import Facts
from admission.model.outcome import Outcome
from admission.objects.namespace_labels import check_namespace_labels
from admission.profiles.check import check_denials, check_profiles
from admission.requester.check import check_notes
from admission.risk.check import check_risk
from admission.sandbox.check import check_sandbox
from admission.site_rules.check import check_site_denials, check_site_warnings
from admission.weights.check import check_weights
from core.decision.request import Request

Check = Callable[[Request, Facts], Outcome]

CHAIN: Final[tuple[Check, ...]] = (
    check_namespace_labels,
    check_guards,
    check_risk,
    check_weights,
    check_egress,
    check_denials,
    check_site_denials,
    check_profiles,
    check_sandbox,
    check_notes,
    check_site_warnings,
    check_host_network,
)


def run(request: Request, facts: Facts) -> list[Outcome]:
    """Run every check; all findings of a request are shown at once."""
    noted = facts.notes is not None or facts.egress is not None or facts.ruled is not None
    speaks = noted or facts.risk is not None or facts.weights is not None
    if facts.left_alone and not speaks:
        return []
    return [check(request, facts) for check in CHAIN]
