"""What holds egress is the gate's and control's: labels of Pods, and the policies of namespaces."""

from admission.facts import Facts
from admission.outcome import NOTHING, Outcome
from core.decision import Finding
from core.request import Request


def egress(_: Request, facts: Facts) -> Outcome:
    """Refuse what would open more than is written down, in whatever mode a namespace is."""
    known = facts.egress
    if known is None or not known.findings:
        return NOTHING
    return Outcome(known.findings, known.headline, known.advice, held=True)


def is_held(finding: Finding) -> bool:
    """Say whether a finding is about what holds egress."""
    return finding.rule.startswith("egress/")
