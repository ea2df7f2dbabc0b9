"""Words why Pods must run in a sandbox, or need not: for refusals and for the command line. Pure.

All read the decision alone, so that a refusal, `sallyport review`, `explain` and `sandbox report`
say the same of it.
"""

from collections.abc import Sequence
from typing import Final

from core.base.safe_text import printable
from core.sandbox.decision import (
    NAMESPACE,
    NOTED_PROFILE,
    PROFILE,
    ModeSource,
    SandboxDecision,
    WeighedSignal,
)

_NAME: Final = 80
"""Characters shown of a name."""

_SETTERS: Final = {
    NAMESPACE: "the namespace {}",
    PROFILE: "the profile {}",
    NOTED_PROFILE: "the profile {} noted on it or its workload",
}


def why_sandboxed(decided: SandboxDecision) -> str:
    """Return what decides about the sandbox, as a clause: `the namespace x requires a sandbox`."""
    by = decided.decided_by
    if by == "asked":
        return "its label sallyport.dev/sandbox asks for a sandbox, whatever the label's value"
    if by == "identity":
        return "the risk of an identity behind it requires a sandbox"
    if not by:
        return "nobody requires a sandbox"
    setter = _name_setter(decided.mode_by)
    excused = ", but an exception takes that away" if decided.excused else ""
    if by == "required":
        return f"{setter} requires a sandbox{excused}"
    return (
        f"{_score(decided)}, and {setter} requires a sandbox from {decided.threshold} on{excused}"
    )


def why_with_signals(decided: SandboxDecision, most: int | None = None) -> str:
    """Return the same with the score and its heaviest signals, all of them where `most` is None."""
    why = why_sandboxed(decided)
    if not decided.signals:
        return why
    if decided.decided_by != "risk":
        why += f"; {_score(decided)}"
    return f"{why}: {_list([f'{each.rule} {each.points}' for each in decided.signals], most)}"


def describe_signals(signals: Sequence[WeighedSignal], most: int) -> str:
    """Return the heaviest signals, each with its points and its reason."""
    return _list([f"{each.rule} {each.points} ({each.reason})" for each in signals], most)


def _name_setter(by: ModeSource | None) -> str:
    """Name who set the mode; records of before did not say who."""
    words = _SETTERS.get(by.kind) if by else None
    return words.format(printable(by.name, _NAME)) if by and words else "its namespace or profile"


def _score(decided: SandboxDecision) -> str:
    return f"its risk is {decided.score}"


def _list(items: Sequence[str], most: int | None) -> str:
    shown = items[:most]
    more = len(items) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")
