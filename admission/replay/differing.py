"""Says in what two bundles differ about one request. Pure."""

import enum

from admission.replay.outcomes import End, Standing


class Effect(enum.StrEnum):
    """What putting a bundle in force would change for a request."""

    NEWLY_REFUSED = "newlyRefused"
    NEWLY_ADMITTED = "newlyAdmitted"
    """It was refused."""
    WOULD_REFUSE = "wouldRefuse"
    """It would newly be refused if its namespace enforced; it is warned of or recorded now."""
    NEWLY_WARNED = "newlyWarned"
    NO_LONGER_WARNED = "noLongerWarned"
    NEWLY_SANDBOXED = "newlySandboxed"
    """Its score would reach the threshold."""
    NO_LONGER_SANDBOXED = "noLongerSandboxed"
    FAILED = "failed"
    """The candidate's policies fail on it, which refuses it as an error; the base's do not."""


def differences(base: Standing, candidate: Standing) -> dict[Effect, frozenset[str]]:
    """Give the effects, each with the rules that make it; of the sandbox no rules are named."""
    found: dict[Effect, frozenset[str]] = {}
    was, becomes = base.end is End.REFUSED, candidate.end is End.REFUSED
    if becomes and not was:
        found[Effect.NEWLY_REFUSED] = candidate.refusing - base.refusing or candidate.refusing
    elif was and not becomes:
        found[Effect.NEWLY_ADMITTED] = base.refusing - candidate.refusing or base.refusing
    elif not was:
        found |= _milder(base, candidate)
    if candidate.sandboxed != base.sandboxed:
        effect = Effect.NEWLY_SANDBOXED if candidate.sandboxed else Effect.NO_LONGER_SANDBOXED
        found[effect] = frozenset()
    return found


def _milder(base: Standing, candidate: Standing) -> dict[Effect, frozenset[str]]:
    """Give the effects on what is refused by neither."""
    found: dict[Effect, frozenset[str]] = {}
    if candidate.refusing and not base.refusing:
        found[Effect.WOULD_REFUSE] = candidate.refusing
    before, after = (each.warning | each.refusing for each in (base, candidate))
    if new := after - before - found.get(Effect.WOULD_REFUSE, frozenset()):
        found[Effect.NEWLY_WARNED] = new
    if gone := before - after:
        found[Effect.NO_LONGER_WARNED] = gone
    return found
