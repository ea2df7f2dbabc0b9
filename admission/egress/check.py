"""Only the gate and control write what holds egress, whatever a namespace's mode is."""

from typing import Final

from admission.model.facts import Facts
from admission.model.outcome import NOTHING, Outcome
from core.decision.decision import Finding
from core.decision.request import Request

HOST_NETWORK: Final = "egress/host-network"
"""The rule of Pods that egress does not hold: it only warns."""

BREAK_GLASS: Final = "egress/break-glass"
"""The rule of Pods that a BreakGlass lets connect everywhere: it only warns."""

ONLY_WARNS: Final = frozenset({HOST_NETWORK, BREAK_GLASS})
"""Rules of egress that refuse nothing."""


def check_egress(_: Request, facts: Facts) -> Outcome:
    """Refuse what would open more than is written down, in whatever mode a namespace is."""
    known = facts.egress
    if known is None or not known.findings:
        return NOTHING
    return Outcome(known.findings, known.headline, known.advice, held=True)


def check_host_network(_: Request, facts: Facts) -> Outcome:
    """Warn of Pods that no policy holds, in namespaces where policies hold the others.

    They are on their node's network, or a BreakGlass opens them.
    """
    return Outcome(facts.egress.beside, told=True) if facts.egress else NOTHING


def is_of_egress(finding: Finding) -> bool:
    """Return whether a finding is about what holds egress."""
    return finding.rule.startswith("egress/") and finding.rule not in ONLY_WARNS
