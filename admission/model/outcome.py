"""The outcome of one check."""

import msgspec

from core.decision.decision import Action, Finding
from core.sandbox.decision import SandboxDecision


class Outcome(msgspec.Struct, frozen=True, gc=False):
    """The outcome of a check. No findings: the check has nothing against the request."""

    findings: tuple[Finding, ...] = ()
    headline: str = ""
    """With findings: what is wrong in one line of under 120 characters, for the person refused."""
    advice: tuple[str, ...] = ()
    """With findings: what else could be done than to mend each of them."""
    profile: str | None = None
    """The profile that the check admits the object under, or judged it by."""

    sandbox: SandboxDecision | None = None
    """What the check decided about the object's sandbox."""

    told: bool = False
    """Whether its warnings are told to whoever is admitted."""

    held: bool = False
    """Whether it holds in every namespace, whatever its mode is."""

    @property
    def denies(self) -> bool:
        """Whether a finding is a refusal; the others only warn."""
        return any(finding.action is Action.DENY for finding in self.findings)


NOTHING = Outcome()
"""The outcome of a check that has nothing to say."""
