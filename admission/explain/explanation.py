"""Explains a recorded decision: what happened, and what would change it. Pure.

It needs nothing but the document, so it explains last month's decision as it was taken.
"""

from collections.abc import Iterable, Sequence

import msgspec

from admission.explain.changes import (
    Change,
    changes_of,
    describe_place_of,
    is_advisory,
    is_catalogue_warning,
)
from admission.fields.check import is_of_field
from core.base.safe_text import printable
from core.decision.decision import Need, Verdict
from core.decision.document import DecisionDocument


class RuleMatch(msgspec.Struct, frozen=True, rename="camel"):
    """What one rule found."""

    rule: str
    privilege: str
    paths: list[str]


class Explanation(msgspec.Struct, frozen=True, rename="camel"):
    """A decision, explained."""

    headline: str
    changes: list[Change]
    """Those that surely change the answer, the smallest first; then those that may."""
    looks: list[RuleMatch]
    decision: DecisionDocument
    notes: list[str] = []
    """Of an object of a file: what nobody could know of it."""


def explain(document: DecisionDocument, notes: Sequence[str] = ()) -> Explanation:
    """Explain one decision; `notes` say what nobody could know of a file's object."""
    return Explanation(
        _headline(document), changes_of(document), _looks(document.needs), document, [*notes]
    )


def _headline(document: DecisionDocument) -> str:
    asked = document.request
    name = asked.name or "(unnamed)"
    place = f"{asked.namespace}/{name}" if asked.namespace else name
    what = printable(f"{asked.kind} {place}", 100)
    if document.verdict is Verdict.ERROR:
        return f"Not judged: {what} ({_after_error(document)})."
    later = is_catalogue_warning(document)
    told = is_advisory(document)
    if document.verdict is Verdict.ALLOW or later or told:
        word = "Runs, and would be admitted" if document.source == "sweep" else "Admitted"
        if document.left_alone:
            return f"{word}: {what}; {document.left_alone}."
        under = f" under the profile {document.profile}" if document.profile else ""
        if document.exceptions:
            under += f", excused by {printable(', '.join(document.exceptions), 300)}"
        if document.grants:
            reached = printable(", ".join(document.weight_stores), 100)
            grants = printable(", ".join(document.grants), 300)
            under += f", reaching the weights of {reached} by {grants}"
        beside = _later(document) if later else _told(document) if told else ""
        return f"{word}: {what}{under}{beside}."
    return f"{_refused(document)}: {what}: {_why(document)}"


def _later(document: DecisionDocument) -> str:
    lacked = {finding.privilege for finding in document.findings if finding.privilege}
    count = _count(len(lacked), document)
    return f", which is written for an older catalogue and does not cover {count} that came later"


def _told(document: DecisionDocument) -> str:
    first = document.findings[0]
    place = f"{printable(first.path, 200)} " if is_of_field(first) and first.path else ""
    return f"; {place}{first.message}"


def _count(lacked: int, document: DecisionDocument) -> str:
    more = "more than " if document.more_findings else ""
    return f"{more}{lacked} privilege{'' if lacked == 1 else 's'}"


def _after_error(document: DecisionDocument) -> str:
    if document.source == "sweep":
        return "it runs all the same"
    if document.source == "mutate":
        return "left to the validating webhook"
    return "admitted all the same" if document.allowed else "refused, and not a denial"


def _refused(document: DecisionDocument) -> str:
    if document.source == "sweep":
        return "Runs, and would be refused" if not document.allowed else f"Runs, {_mode(document)}"
    if not document.allowed:
        return "Refused"
    if document.verdict is Verdict.DENY:  # The mutating webhook leaves most refusals to it.
        return "Left to the validating webhook to refuse"
    return f"Admitted, {_mode(document)}"


def _mode(document: DecisionDocument) -> str:
    return f"since the mode is {document.mode}"


def _why(document: DecisionDocument) -> str:
    first = document.findings[0] if document.findings else None
    if first is None:
        return "no profile that may be used covers what it needs."
    if first.privilege is None:
        place = f"{first.path}: " if first.path else ""
        others = len(document.findings) + document.more_findings - 1
        return f"{place}{first.message}{f', and {others} more' if others else ''}."
    if len(document.findings) + document.more_findings == 1:
        return f"{first.path} {first.message}."
    lacked = {finding.privilege for finding in document.findings if finding.privilege}
    count = _count(len(lacked), document)
    them = "it" if len(lacked) == 1 else "them"
    if document.named is not None:
        return f"it needs {count} that the profile {document.named.profile} does not cover."
    return f"it needs {count} without a right to {them} {describe_place_of(document)}."


def _looks(needs: Iterable[Need]) -> list[RuleMatch]:
    found: dict[tuple[str, str], list[str]] = {}
    for need in needs:
        found.setdefault((need.rule, need.privilege), []).append(need.path)
    return [RuleMatch(rule, privilege, paths) for (rule, privilege), paths in found.items()]
