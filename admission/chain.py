"""The chain of checks, in the order in which their findings are shown."""

from collections.abc import Callable
from typing import Final, NamedTuple

from admission.approvals.check import check_guards
from admission.egress.check import check_egress, check_host_network
from admission.fields.check import check_fields
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


class Link(NamedTuple):
    """A check, and the part of the facts without which it has nothing to say: it is not asked."""

    check: Callable[[Request, Facts], Outcome]
    part: Callable[[Facts], object]


CHAIN: Final[tuple[Link, ...]] = (
    Link(check_namespace_labels, lambda facts: facts.namespace_labels),
    Link(check_guards, lambda facts: facts.guard),
    Link(check_risk, lambda facts: facts.risk),
    Link(check_weights, lambda facts: facts.weights),
    Link(check_egress, lambda facts: facts.egress),
    Link(check_denials, lambda facts: facts.pod),
    Link(check_site_denials, lambda facts: facts.site_rules),
    Link(check_profiles, lambda facts: facts.pod),
    Link(check_sandbox, lambda facts: facts.pod and facts.pod.sandbox),
    Link(check_notes, lambda facts: facts.notes or facts.origin),
    Link(check_fields, lambda facts: facts.fields),
    Link(check_site_warnings, lambda facts: facts.site_rules),
    Link(check_host_network, lambda facts: facts.egress),
)


def run_checks(request: Request, facts: Facts) -> list[Outcome]:
    """Run every check that has facts; all findings of a request are shown at once."""
    noted = facts.notes is not None or facts.egress is not None or facts.site_rules is not None
    found = facts.weights is not None or facts.fields is not None
    speaks = noted or facts.risk is not None or found
    if facts.left_alone and not speaks:
        return []
    return [link.check(request, facts) for link in CHAIN if link.part(facts) is not None]
