"""Only the gate and control write what holds egress, whatever a namespace's mode is."""

from typing import Final

from admission.model.facts import Facts
from admission.model.outcome import NOTHING, Outcome
from core.decision.decision import Finding
from core.decision.request import Request

HOST_NETWORK: Final = "egress/host-network"
"""The rule of Pods that egress does not hold: it only warns."""


def check_egress(_: Request, facts: Facts) -> Outcome:
    """Refuse what would open more than is written down, in whatever mode a namespace is."""
    known = facts.egress
    if known is None or not known.findings:
        return NOTHING
    return Outcome(known.findings, known.headline, known.advice, held=True)


def check_host_network(_: Request, facts: Facts) -> Outcome:
    """Warn of Pods on their node's network, in namespaces where policies hold the others."""
    return Outcome(facts.egress.beside, told=True) if facts.egress else NOTHING


def is_of_egress(finding: Finding) -> bool:
    """Return whether a finding is about what holds egress."""
    return finding.rule.startswith("egress/") and finding.rule != HOST_NETWORK
