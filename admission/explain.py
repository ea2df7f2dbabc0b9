"""Explains a recorded decision: what would change the answer, the smallest change first. Pure.

It needs nothing but the document, so it explains last month's decision as it was taken.
"""

import shlex
from collections.abc import Iterable
from typing import Final, Literal

import msgspec

from admission.wording import listed, printable
from core.decision import Need, Verdict
from core.document import DecisionDocument, TriedProfile
from core.subject import SERVICE_ACCOUNT_PREFIX

_GRANT_SIZE: Final = 8
"""A right takes another person, and may be more than is needed: it weighs as much as changing
so many fields oneself."""

_SHOWN: Final = 3


class FieldChange(msgspec.Struct, frozen=True, rename="camel"):
    """One field to change, and how."""

    path: str
    remedy: str


class Change(msgspec.Struct, frozen=True, rename="camel"):
    """One way to another answer."""

    what: str
    """A sentence that begins with what to do."""
    who: Literal["author", "administrator"]
    size: int
    """Fields to change; a right weighs as much as 8."""
    profile: str | None = None
    """The profile that would then be chosen."""
    fields: list[FieldChange] = []
    commands: list[str] = []
    """What an administrator would type."""


class Look(msgspec.Struct, frozen=True, rename="camel"):
    """What one rule found."""

    rule: str
    privilege: str
    paths: list[str]


class Explanation(msgspec.Struct, frozen=True, rename="camel"):
    """A decision, explained."""

    headline: str
    changes: list[Change]
    """The smallest first."""
    looks: list[Look]
    decision: DecisionDocument


def explain(document: DecisionDocument) -> Explanation:
    """Explain one decision."""
    # Sorting keeps the order of choice among equals: the profile that gives least comes first.
    changes = sorted(_changes(document), key=lambda change: change.size)
    return Explanation(_headline(document), changes, _looks(document.needs), document)


def _headline(document: DecisionDocument) -> str:
    asked = document.request
    name = asked.name or "(unnamed)"
    place = f"{asked.namespace}/{name}" if asked.namespace else name
    what = printable(f"{asked.kind} {place}", 100)
    if document.verdict is Verdict.ERROR:
        told = "admitted all the same" if document.allowed else "refused, and not a denial"
        return f"Not judged: {what} ({told})."
    if document.left_alone:
        return f"Admitted: {what}; {document.left_alone}."
    if document.verdict is Verdict.ALLOW:
        under = f" under the profile {document.profile}" if document.profile else ""
        return f"Admitted: {what}{under}."
    word = "Refused" if not document.allowed else f"Admitted, since the mode is {document.mode}"
    return f"{word}: {what}: {_why(document)}"


def _why(document: DecisionDocument) -> str:
    count = len(document.findings) + document.more_findings
    first = document.findings[0] if document.findings else None
    if first is None:
        return "no profile that may be used covers what it needs."
    if count == 1 or first.privilege is None:
        place = f"{first.path} " if first.path else ""
        return f"{place}{first.message}."
    needed = len({finding.privilege for finding in document.findings}) + document.more_findings
    return f"it needs {needed} privileges without a right to them here."


def _changes(document: DecisionDocument) -> Iterable[Change]:
    if document.verdict is Verdict.ERROR:
        return [_after_error(document)]
    if document.verdict is Verdict.ALLOW:
        return []
    if not document.tried or document.findings[0].privilege is None:
        return [*_another_name(document), *_by_findings(document), *_grants(document)]
    own = [_fewer_needs(document, tried) for tried in _smallest(document.tried)]
    grants = _grants(document)
    both = [] if own or grants else _both(document)
    return [*_another_name(document), *own, *grants, *both]


def _after_error(document: DecisionDocument) -> Change:
    if document.field:
        remedy = f"Correct it: {document.reason}."
        return Change("Correct the manifest:", "author", 1, None, [_at(document.field, remedy)])
    what = f"Try again; if it stays, ask an operator. {document.reason}."
    return Change(what, "administrator", 1)


def _smallest(tried: Iterable[TriedProfile]) -> list[TriedProfile]:
    """Give the usable profiles that lack something, none that lacks all that another does."""
    kept: list[TriedProfile] = []
    for profile in tried:
        lacks = set(profile.lacks)
        if profile.usable and lacks and not any(lacks.issuperset(k.lacks) for k in kept):
            kept.append(profile)
    return kept


def _fewer_needs(document: DecisionDocument, tried: TriedProfile) -> Change:
    """Give the change of all that a usable profile lacks."""
    fields = _mend(document, tried)
    count = len(fields) + document.more_needs
    fields_word = "this field" if count == 1 else f"these {count} fields"
    right = "that is named" if document.named else "that may be used here"
    return Change(
        f"change {fields_word}; then {tried.profile}, a profile {right}, covers all:",
        "author",
        count,
        tried.profile,
        fields,
    )


def _mend(document: DecisionDocument, tried: TriedProfile) -> list[FieldChange]:
    """Say what to do about each need that a profile lacks: its remedy where it is known."""
    remedies = {finding.rule: finding.remedy for finding in document.findings}
    lacks = set(tried.lacks)
    return [
        _at(need.path, remedies.get(need.rule, f"Do without {need.privilege}."))
        for need in document.needs
        if need.privilege in lacks
    ]


def _at(path: str, remedy: str) -> FieldChange:
    return FieldChange(path, remedy)


def _grants(document: DecisionDocument) -> list[Change]:
    """Propose the first profile, in the order of choice, that covers all: it gives least."""
    refused = [t.profile for t in document.tried if not t.lacks and t.usable is False]
    return [_grant(document, profile) for profile in refused[:1]]


def _grant(document: DecisionDocument, profile: str) -> Change:
    namespace = document.request.namespace
    missing = [a for a in document.access_reviews if a.profile == profile and not a.allowed]
    whose = [answer.subject for answer in missing] or document.subjects
    return Change(
        f"ask for the right to use the profile {profile} in namespace {namespace}, "
        f"for {listed(map(_who, whose), 2) if whose else 'its maker'}.",
        "administrator",
        _GRANT_SIZE,
        profile,
        commands=_commands(profile, namespace, whose[0] if whose else ""),
    )


def _commands(profile: str, namespace: str, label: str) -> list[str]:
    """Give what an administrator would type. Person's labels are not names, so they fill it in."""
    role = shlex.quote(f"use-{profile}")
    place = shlex.quote(namespace)
    if label.startswith(SERVICE_ACCOUNT_PREFIX):
        account = label.removeprefix(SERVICE_ACCOUNT_PREFIX)
        subject = f"--serviceaccount={shlex.quote(account)}"
    else:
        subject = "--user=USER"
    return [
        f"kubectl create role {role} -n {place} --verb=use "
        f"--resource=containerprofiles.sallyport.dev --resource-name={shlex.quote(profile)}",
        f"kubectl create rolebinding {role} -n {place} --role={role} {subject}",
    ]


def _another_name(document: DecisionDocument) -> list[Change]:
    named = document.named
    if named is None or not named.path:
        return []
    what = f"take away {named.path} (it names {named.profile}): another profile may be chosen then."
    return [Change(what, "author", 1)]


def _by_findings(document: DecisionDocument) -> list[Change]:
    """Where no privilege is in question, each finding's remedy is the change."""
    fields = [_at(f.path, f.remedy) for f in document.findings if f.path]
    if fields:
        return [Change("change what is wrong:", "author", len(fields), None, fields)]
    return [Change(finding.remedy, "author", 1) for finding in document.findings[:_SHOWN]]


def _both(document: DecisionDocument) -> list[Change]:
    """Where no profile would do: ask for the closest, and change what it lacks."""
    near = next((tried for tried in document.tried if tried.lacks), None)
    if near is None:
        return []
    grant, fields = _grant(document, near.profile), _mend(document, near)
    what = f"change {len(fields)} fields as shown, and {grant.what}"
    size = grant.size + len(fields)
    return [Change(what, "administrator", size, near.profile, fields, grant.commands)]


def _who(label: str) -> str:
    if label.startswith(SERVICE_ACCOUNT_PREFIX):
        return "service account " + label.removeprefix(SERVICE_ACCOUNT_PREFIX)
    return f"who asked ({label})"


def _looks(needs: Iterable[Need]) -> list[Look]:
    found: dict[tuple[str, str], list[str]] = {}
    for need in needs:
        found.setdefault((need.rule, need.privilege), []).append(need.path)
    return [Look(rule, privilege, paths) for (rule, privilege), paths in found.items()]
