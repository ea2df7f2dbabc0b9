"""Denials and warnings of a site's own rules."""

from admission.model.facts import Facts
from admission.model.outcome import NOTHING, Outcome
from core.decision.request import Request


def check_site_denials(_: Request, facts: Facts) -> Outcome:
    """Refuse what a site's rules deny, unless an exception excuses it."""
    if facts.site_rules is None or not facts.site_rules.denied:
        return NOTHING
    return Outcome(facts.site_rules.denied, "A rule of this cluster denies it.")


def check_site_warnings(_: Request, facts: Facts) -> Outcome:
    """Warn of what a site's rules warn of."""
    if facts.site_rules is None or not facts.site_rules.warned:
        return NOTHING
    return Outcome(facts.site_rules.warned, "A rule of this cluster warns of it.", told=True)
