"""What the mutating pass refuses already: what the back-stop would refuse unrecorded. Pure.

kube-apiserver evaluates policies before it calls validating webhooks: without this, what the
back-stop refuses would have no decision (docs/adr/0044).
"""

from typing import Final

from admission.profiles.check import MANY, MORE, NAMED
from core.decision.decision import Action, Decision, Verdict
from core.decision.request import Request
from policies.backstop.rules import COVERED

_HELD: Final = frozenset(covered.rule for covered in COVERED)
_PROFILES: Final = _HELD | {NAMED, MANY, MORE}
"""The rules of findings that say that no profile covers what is held."""


def refuses_early(request: Request, decision: Decision) -> bool:
    """Say whether no profile lets a Pod have what the back-stop holds, and that is refused.

    Everything else waits for the final state: another webhook may still put it right.
    """
    if request.kind.kind != "Pod" or decision.verdict is not Verdict.DENY or decision.allowed:
        return False
    if not any(need.rule in _HELD for need in decision.evidence.needs):
        return False
    return any(
        finding.rule in _PROFILES and finding.action is Action.DENY for finding in decision.findings
    )
