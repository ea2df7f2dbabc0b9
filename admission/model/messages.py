"""Messages of decisions, for the person who is refused or warned. Pure."""

import urllib.parse
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Final

import msgspec

from admission.model.outcome import Outcome
from core.base.safe_text import printable, shorten
from core.base.short_text_cache import cache_short_texts
from core.decision.decision import Action, Denial, Finding
from core.decision.other_objects import path_in_pod
from core.profiles.container_profiles import Profile
from policies.bundle.format import Rule
from policies.engine.entry_points import MOST_OF_MESSAGE

CONNECT_ADVICE: Final = (
    "Entering a Pod takes one profile of your own that covers the way in and the Pod."
)

_REMEDY: Final = "Enter Pods that a profile of yours covers, or ask for one that covers this too."

_LINE = 120
"""Longest first line, in characters."""

_PATH = 300
"""Characters shown of a field's path or a privilege: its author chooses annotations' names."""

_ENCODED = 2048
"""Characters of a privilege that are decoded: one character takes up to 12, and 80 are shown."""

_MOMENT = 35
"""Characters of an RFC 3339 time; the line that shows it stays under 120."""

_PLACES = 5
"""Further places shown of one finding."""

_MOST_REMEMBERED = 256
"""Messages of privileges: those of well-known ones come again and again. One of a long path has up
to 12 KB."""

_SHOWN = 40
"""Findings shown in a message; the decision holds them all."""


def remedies_for_connection(findings: Iterable[Finding], pod: str) -> list[Finding]:
    """Return findings with what a visitor can do about those that are of the Pod."""
    return [
        msgspec.structs.replace(finding, remedy=_REMEDY)
        if finding.path.endswith(path_in_pod("", pod))
        else finding
        for finding in findings
    ]


def join_words(words: Iterable[str], most: int) -> str:
    """Return `a, b, c or 4 others`; short enough for a sentence."""
    words = list(words)
    shown = words[:most]
    if len(words) > most:
        left = len(words) - most
        return f"{', '.join(shown)} or {left} other{'' if left == 1 else 's'}"
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} or {shown[-1]}"


@cache_short_texts(_MOST_REMEMBERED, longest=1024)
def privilege_message(template: str, privilege: str) -> str:
    """Fill a rule's message with the privilege's value, decoded and made safe to print.

    A privilege of two segments has no `{rest}`: then it is the second. After the slash of a
    path, that of the node's root (`%2F`) is not said again.
    """
    _, _, value = privilege.partition("/")
    _, _, rest = value.partition("/")
    said = printable(_decoded(rest or value), 80)
    if "/{rest}" in template:
        said = said.removeprefix("/")
    return rule_message(template.replace("{rest}", said), _decoded(value))


def _decoded(value: str) -> str:
    """Return what a privilege says, as far as a message may show it."""
    return urllib.parse.unquote(value[:_ENCODED])


def rule_message(template: str, value: str) -> str:
    """Fill a rule's message with what it speaks of, made safe to print."""
    return template.replace("{value}", printable(value, 80))


def recorded_id(decision: str, *, dry_run: bool) -> str:
    """Return the id that messages give of a decision: none of a dry run, which nobody finds."""
    return "" if dry_run else decision


def reference(decision: str) -> str:
    """Return what a warning ends with: the decision on record, if there is one."""
    return f"; decision {decision}" if decision else ""


def _on_record(decision: str) -> str:
    return f"Decision {decision}" if decision else "A dry run: no decision is on record"


def refusal_message(
    what: str, outcomes: Sequence[Outcome], decision: str, remarks: Iterable[str] = ()
) -> str:
    """Return the message of a refusal: one line of what, then each finding and its remedy."""
    speaking = [outcome for outcome in outcomes if outcome.findings]
    first = f"{printable(what, _LINE)}: " + " ".join(outcome.headline for outcome in speaking)
    lines = [shorten(first, _LINE - 1), ""]
    groups = [group for outcome in speaking for group in _grouped(outcome.findings)]
    for number, group in enumerate(groups[:_SHOWN], 1):
        lines += _entry(number, group)
    if len(groups) > _SHOWN:
        lines.append(f"… and {len(groups) - _SHOWN} more: sallyport review -o json FILE shows all.")
    lines.append("")
    lines += [line for outcome in speaking for line in outcome.advice]
    lines += [printable(remark, _PATH) for remark in remarks]
    lines.append(_on_record(decision))
    return "\n".join(lines)


def error_message(what: str, why: str, remedy: str, decision: str) -> str:
    """Return the message of an error: nobody said no, but nobody could say yes."""
    return (
        f"{printable(what, 64)} could not be judged. This is an error, not a denial.\n\n"
        f"{why}\n{remedy}\n{_on_record(decision)}"
    )


def warning_lines(outcomes: Sequence[Outcome], decision: str, announced: str = "") -> list[str]:
    """Return one short line for each finding, as kubectl prints warnings; remedies where they fit.

    `announced` is from when its namespace is to enforce, where that is said.
    """
    last = f"Sallyport would refuse this in a namespace that enforces{reference(decision)}"
    if announced:
        shown = printable(announced, _MOMENT)
        last = f"This namespace is to enforce from {shown} on: it is refused then"
        last += reference(decision)
    return [*finding_lines(outcomes), last]


def catalogue_notices(
    outcomes: Sequence[Outcome], decision: str, profile: Profile | None, catalogue: int
) -> list[str]:
    """Return the same of what is admitted today, since the profile knows no newer catalogue.

    Without a profile it is not named.
    """
    if profile is None:
        why = f"Its profile is written for an older catalogue, these privileges are of {catalogue}"
    else:
        why = (
            f"The profile {profile.name} is written for catalogue {profile.catalogue}, "
            f"these privileges are of {catalogue}"
        )
    last = (
        f"Sallyport will refuse this once spec.catalogue of the profile is {catalogue}, "
        f"unless it covers them{reference(decision)}"
    )
    return [*finding_lines(outcomes), why, last]


def finding_lines(outcomes: Sequence[Outcome]) -> list[str]:
    """Return one short line for each finding; remedies where they fit."""
    lines = []
    for outcome in outcomes:
        for group in _grouped(outcome.findings):
            line = _said(group[0])
            whole = f"{line}. {group[0].remedy}"
            lines.append(whole if len(whole) <= _LINE else line)
    return lines


def remedy_lines(outcomes: Sequence[Outcome]) -> list[str]:
    """Return a line for each finding, and one for its remedy."""
    groups = [group for outcome in outcomes for group in _grouped(outcome.findings)]
    return [line for group in groups for line in (_said(group[0]), group[0].remedy)]


def _said(finding: Finding) -> str:
    path = printable(finding.path, _PATH)
    return f"{path}: {finding.message}" if path else finding.message


def _grouped(findings: Sequence[Finding]) -> list[list[Finding]]:
    """Put the same finding of several containers together, in the order of the first."""
    order: dict[tuple[str, str], int] = {}
    for finding in findings:
        order.setdefault((finding.rule, finding.message), len(order))
    ranked = sorted(findings, key=lambda finding: order[finding.rule, finding.message])
    return [list(group) for _, group in groupby(ranked, lambda f: (f.rule, f.message))]


def _entry(number: int, group: Sequence[Finding]) -> list[str]:
    first = group[0]
    who = f" (container {printable(first.container, 63)})" if first.container else ""
    place = f"{printable(first.path, _PATH)}{who}: " if first.path else ""
    lines = [f"{number}. {place}{first.message}"]
    others = [printable(finding.path, _PATH) for finding in group[1:]]
    if others:
        more = f" and {len(others) - _PLACES} more" if len(others) > _PLACES else ""
        lines.append(f"   also at: {', '.join(others[:_PLACES])}{more}")
    lines.append(f"   Fix: {first.remedy}")
    tail = f"rule {first.rule}"
    if first.privilege:
        covered = join_words(first.covered_by, 4) if first.covered_by else "no profile"
        tail += f"; privilege {printable(first.privilege, _PATH)}, covered by {covered}"
    lines.append(f"   ({tail})")
    return lines


def denial_finding(denial: Denial, rules: Mapping[str, Rule]) -> Finding:
    """Word what a rule denies to everyone."""
    rule = rules.get(denial.rule)
    if denial.message:
        message = printable(denial.message, MOST_OF_MESSAGE)
    else:
        message = rule_message(rule.message, denial.value) if rule else "may never be set"
    remedy = rule.remedy if rule else "Remove it."
    return Finding(
        denial.rule, Action.DENY, denial.path, message, remedy, container=denial.container
    )
