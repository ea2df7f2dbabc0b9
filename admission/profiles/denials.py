"""What is never right: no profile, no right and no ceiling makes it so."""

from admission.model.facts import Facts
from admission.model.outcome import NOTHING, Outcome
from core.decision.decision import Finding
from core.decision.request import Request


def denials(_: Request, facts: Facts) -> Outcome:
    """Refuse what a rule denies to everyone."""
    if facts.pod is None or not facts.pod.denials:
        return NOTHING
    return Outcome(facts.pod.denials, "It asks for what nobody may have.")


def is_denial(finding: Finding) -> bool:
    """Say whether a finding is of a rule that denies: its policies lie under `rules/`."""
    return finding.rule.startswith("rules/")
