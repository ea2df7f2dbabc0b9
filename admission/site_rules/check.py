"""Denials and warnings of a site's own rules."""

from admission.model.facts import Facts
from admission.model.outcome import NOTHING, Outcome
from core.decision.request import Request


def check_site_denials(_: Request, facts: Facts) -> Outcome:
    """Refuse what a site's rules deny, unless an exception excuses it."""
    if facts.ruled is None or not facts.ruled.denied:
        return NOTHING
    return Outcome(facts.ruled.denied, "A rule of this cluster denies it.")


def check_site_warnings(_: Request, facts: Facts) -> Outcome:
    """Warn of what a site's rules warn of."""
    if facts.ruled is None or not facts.ruled.warned:
        return NOTHING
    return Outcome(facts.ruled.warned, "A rule of this cluster warns of it.", told=True)
