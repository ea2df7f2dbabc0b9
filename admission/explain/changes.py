"""What would change a recorded answer: fields to change, rights to ask for. Pure."""

import shlex
from collections.abc import Iterable
from typing import Final, Literal

import msgspec

from admission.egress.check import ONLY_WARNS, is_of_egress
from admission.fields.check import is_of_field
from admission.model.candidates import is_special
from admission.model.messages import join_words
from admission.objects import namespace_labels
from admission.profiles import check
from admission.profiles.check import is_denial
from admission.risk.check import is_of_identity
from core.base import names
from core.decision.decision import Action, Finding, Verdict
from core.decision.document import DecisionDocument, TriedProfile
from core.decision.namespaces import Mode
from core.people.subject import SERVICE_ACCOUNT_PREFIX
from identity.requester_note_rules import PROFILE_PATH

_GRANT_SIZE: Final = 8
"""A right takes another person, and may be more than is needed: it weighs as much as changing
so many fields oneself."""

_SHOWN: Final = 4


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


def review_namespace(document: DecisionDocument) -> str:
    """Return where the rights were asked, which is the same of all; empty for all namespaces."""
    asked = (answer.namespace for answer in document.access_reviews)
    return next(asked, document.request.namespace)


def describe_place(namespace: str) -> str:
    """Name the place of a right; none is all namespaces."""
    return f"in namespace {namespace}" if namespace else "in all namespaces"


def describe_place_of(document: DecisionDocument) -> str:
    """Say where the rights count, to who asked."""
    namespace = review_namespace(document)
    return (
        "here"
        if namespace and namespace == document.request.namespace
        else describe_place(namespace)
    )


def commands_of(profile: str, namespace: str, label: str) -> list[str]:
    """Return what an administrator would type. A person's label is no name: USER stands for it.

    The role is written out: `kubectl create role` refuses the verb `use` for kinds that it does not
    know (k8s.io/kubectl pkg/cmd/create/create_role.go, specialVerbs).
    """
    role = shlex.quote(f"use-{profile}")
    kind = "" if namespace else "cluster"
    place = f" -n {shlex.quote(namespace)}" if namespace else ""
    if label.startswith(SERVICE_ACCOUNT_PREFIX):
        account = label.removeprefix(SERVICE_ACCOUNT_PREFIX)
        subject = f"--serviceaccount={shlex.quote(account)}"
    else:
        subject = "--user=USER"
    return [
        f"echo {shlex.quote(_role(profile, namespace))} | kubectl create -f -",
        f"kubectl create {kind}rolebinding {role}{place} --{kind}role={role} {subject}",
    ]


def _role(profile: str, namespace: str) -> str:
    place = {"namespace": namespace} if namespace else {}
    rule = {
        "apiGroups": [names.GROUP],
        "resources": [names.PROFILES_RESOURCE],
        "resourceNames": [profile],
        "verbs": [names.USE_VERB],
    }
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role" if namespace else "ClusterRole",
        "metadata": {"name": f"use-{profile}", **place},
        "rules": [rule],
    }
    return msgspec.json.encode(role).decode()


def name_subject(label: str) -> str:
    """Name who lacks the right, to an administrator: a person goes by the pseudonym."""
    if label.startswith(SERVICE_ACCOUNT_PREFIX):
        return "service account " + label.removeprefix(SERVICE_ACCOUNT_PREFIX)
    return f"who asked ({label})"


def changes_of(document: DecisionDocument) -> list[Change]:
    """Return what would surely change the answer, the smallest first; then what may.

    Of what may, nothing is known but that the answer cannot change without it or the like.
    """
    if document.verdict is Verdict.ALLOW:
        return []
    if document.verdict is Verdict.ERROR:
        return [_after_error(document)]
    if is_advisory(document):
        return [*_take_away(document), *_judged_fields(document)]
    if is_catalogue_warning(document):
        return _before_it_is_raised(document)
    return _without_profiles(document) or [*_take_away(document), *_be_covered(document)]


def _without_profiles(document: DecisionDocument) -> list[Change]:
    """Return what would change an answer that no profile has a part in; nothing for any other."""
    rule = document.findings[0].rule if document.findings else ""
    if rule == namespace_labels.RULE:
        return [_leave_marks(document)]
    if rule == check.MANY_RULE:
        remedy = document.findings[0].remedy
        return [_by_author(document, remedy[0].lower() + remedy[1:], 1)]
    if document.findings and all(f.rule.startswith("notes/") for f in document.findings):
        return [_put_notes_right(document)]
    return []


def _take_away(document: DecisionDocument) -> list[Change]:
    """Return what no profile makes good: it must go, or be put right, whatever else is done."""
    found = []
    for what, counts in (
        ("end the risk, or act as another identity:", is_of_identity),
        ("put right what holds egress:", is_of_egress),
        ("take away what nobody may have:", is_denial),
        ("put right what no profile covers:", _is_of_no_kind_above),
    ):
        fields = [FieldChange(f.path, f.remedy) for f in document.findings if counts(f)]
        found += [_by_author(document, what, len(fields), None, fields)] if fields else []
    return found


def _judged_fields(document: DecisionDocument) -> list[Change]:
    """Return what ends the warning of fields that nobody has judged."""
    fields = [FieldChange(f.path, f.remedy) for f in document.findings if is_of_field(f)]
    what = "have what no rule has judged reviewed:"
    return [_by_author(document, what, len(fields), None, fields)] if fields else []


def _be_covered(document: DecisionDocument) -> list[Change]:
    """Return the ways to a profile that covers all that is needed, unless one does."""
    if document.findings and all(map(_is_nobodys, document.findings)):
        return []
    # Sorting keeps the order of choice among equals: the profile that gives least comes first.
    sure = sorted(_sure(document), key=lambda change: change.size)
    return [*sure, *_perhaps(document, sure)]


def _is_nobodys(finding: Finding) -> bool:
    """Return whether no profile makes a finding good."""
    return finding.privilege is None and not finding.rule.startswith("profiles/")


def _is_of_no_kind_above(finding: Finding) -> bool:
    """Return whether no profile makes a finding good that is of the sandbox, of weights, of notes.

    What only warns of egress is left out: it is no reason for a refusal.
    """
    named = is_denial(finding) or is_of_egress(finding) or is_of_identity(finding)
    return _is_nobodys(finding) and not named and finding.action is Action.DENY


def is_advisory(document: DecisionDocument) -> bool:
    """Return whether it was admitted, with a word on who is behind it, or on what it holds."""
    enforced = document.mode == Mode.ENFORCE.value and not document.break_glass
    warned = document.verdict is Verdict.WARN and bool(document.findings)
    return enforced and warned and all(map(_only_warns, document.findings))


def _only_warns(finding: Finding) -> bool:
    return is_of_identity(finding) or finding.rule in ONLY_WARNS or is_of_field(finding)


def is_catalogue_warning(document: DecisionDocument) -> bool:
    """Return whether it was admitted with warnings of what its profile's catalogue knows not."""
    return (
        document.verdict is Verdict.WARN
        and any(finding.privilege for finding in document.findings)
        and not any(map(is_denial, document.findings))
        and any(t.profile == document.profile and t.usable and _covers(t) for t in document.tried)
    )


def _before_it_is_raised(document: DecisionDocument) -> list[Change]:
    """Return what keeps it admitted once its profile is written for the newer catalogue."""
    fields = [FieldChange(f.path, f.remedy) for f in document.findings if f.privilege]
    left_out = ", and others that the record leaves out" if document.more_findings else ""
    word = "this field" if len(fields) == 1 else f"these {len(fields)} fields"
    own = f"change {word}{left_out}, before the profile {document.profile} is brought up to date:"
    covers = f"cover it in the profile {document.profile}, and raise its spec.catalogue."
    size = len(fields) + document.more_findings
    return [
        _by_author(document, own, size, document.profile, fields),
        Change(covers, "administrator", _GRANT_SIZE, document.profile),
    ]


def _sure(document: DecisionDocument) -> list[Change]:
    own = [_fewer_needs(document, tried) for tried in _smallest(document.tried)]
    grants = _grants(document)
    return [*own, *grants] if own or grants else _both(document)


def _perhaps(document: DecisionDocument, sure: list[Change]) -> list[Change]:
    """Return what may help: rights nobody asked about, what an administrator sets, another name."""
    own = any(change.who == "author" for change in sure)
    unasked = [t for t in document.tried if t.usable is None and not _covers(t)]
    found = [] if own else [_fewer_needs(document, tried) for tried in unasked[:1]]
    found += _another_name(document)
    if document.ceiling is not None and _ceiling_matters(document):
        found.append(_wider_ceiling(document))
    elif not document.tried and document.named is None:
        what = "ask an administrator for a profile that covers all: the cluster has none at all."
        found.append(Change(what, "administrator", _GRANT_SIZE))
    return found


def _after_error(document: DecisionDocument) -> Change:
    reason = document.reason
    if document.error_kind == "object":
        path = document.field or document.request.kind
        problem = reason.removeprefix(f"{document.request.kind}: ").removeprefix(f"{path}: ")
        return _by_author(document, "correct the manifest:", 1, None, [FieldChange(path, problem)])
    again = "wait for the next sweep" if document.source == "sweep" else "try again"
    return Change(f"{again}; if it stays, ask an operator: {reason}.", "administrator", 1)


def _leave_marks(document: DecisionDocument) -> Change:
    fields = [FieldChange(finding.path, finding.remedy) for finding in document.findings]
    marks = "this mark" if len(fields) == 1 else f"these {len(fields)} marks"
    return _by_author(document, f"leave {marks} as before:", len(fields), None, fields)


def _put_notes_right(document: DecisionDocument) -> Change:
    fields = [FieldChange(finding.path, finding.remedy) for finding in document.findings]
    what = "put right what is noted of who asked:"
    return _by_author(document, what, len(fields), None, fields)


def _by_author(
    document: DecisionDocument,
    what: str,
    size: int,
    profile: str | None = None,
    fields: list[FieldChange] | None = None,
) -> Change:
    """Return what an author does; of what runs, hardly a field can be changed in place."""
    when = "before it is made anew, " if document.source == "sweep" else ""
    return Change(when + what, "author", size, profile, fields or [])


def _covers(tried: TriedProfile) -> bool:
    return not tried.lacks and not tried.more_lacks


def _smallest(tried: Iterable[TriedProfile]) -> list[TriedProfile]:
    """Return the usable profiles that lack something, none that lacks all that another does."""
    kept: list[TriedProfile] = []
    for profile in tried:
        lacks = set(profile.lacks)
        if (
            profile.usable
            and not _covers(profile)
            and not any(lacks.issuperset(k.lacks) for k in kept)
        ):
            kept.append(profile)
    return kept


def _fewer_needs(document: DecisionDocument, tried: TriedProfile) -> Change:
    """Return the change of all that a profile lacks."""
    fields = _mend(document, tried)
    if tried.usable is None:
        then = f"then {tried.profile} covers all, if it may be used:"
    else:
        right = (
            "that is named" if document.named else f"that may be used {describe_place_of(document)}"
        )
        then = f"then {tried.profile}, a profile {right}, covers all:"
    what = f"{_change(document, tried, fields)}; {then}"
    return _by_author(document, what, _size(document, fields), tried.profile, fields)


def _change(document: DecisionDocument, tried: TriedProfile, fields: list[FieldChange]) -> str:
    if not fields:
        return f"do without {join_words(tried.lacks, _SHOWN) if tried.lacks else 'some privileges'}"
    word = "this field" if len(fields) == 1 else f"these {len(fields)} fields"
    left_out = (
        ", and others that the record leaves out" if document.more_needs or tried.more_lacks else ""
    )
    return f"change {word}{left_out}"


def _size(document: DecisionDocument, fields: list[FieldChange]) -> int:
    return len(fields) + document.more_needs


def _mend(document: DecisionDocument, tried: TriedProfile) -> list[FieldChange]:
    """Say what to do about each need that a profile lacks: its remedy where it is known."""
    remedies = {finding.rule: finding.remedy for finding in document.findings}
    lacks = set(tried.lacks)
    return [
        FieldChange(need.path, remedies.get(need.rule, f"Do without {need.privilege}."))
        for need in document.needs
        if need.privilege in lacks
    ]


def _grants(document: DecisionDocument) -> list[Change]:
    """Propose the first profile, in the order of choice, that covers all: it gives least."""
    refused = [t.profile for t in document.tried if _covers(t) and t.usable is False]
    return [_grant(document, profile) for profile in refused[:1]]


def _grant(document: DecisionDocument, profile: str) -> Change:
    namespace = review_namespace(document)
    answers = [answer for answer in document.access_reviews if answer.profile == profile]
    missing = [answer.subject for answer in answers if not answer.allowed]
    whose = missing or document.subjects
    asked = {answer.subject for answer in answers}
    others = [label for label in document.subjects if missing and label not in asked]
    if document.more_access_reviews:
        others = []
    too = f"; {join_words(map(name_subject, others), 2)} may lack it too" if others else ""
    return Change(
        f"ask for the right to use the profile {profile} {describe_place(namespace)}, "
        f"for {join_words(map(name_subject, whose), 2) if whose else 'its maker'}{too}.",
        "administrator",
        _GRANT_SIZE,
        profile,
        commands=commands_of(profile, namespace, whose[0] if whose else ""),
    )


def _both(document: DecisionDocument) -> list[Change]:
    """Where no profile would do: ask for the closest, and change what it lacks."""
    near = next((tried for tried in document.tried if not _covers(tried)), None)
    if near is None or near.usable is not False:
        return []
    grant, fields = _grant(document, near.profile), _mend(document, near)
    what = f"{_change(document, near, fields)}, and {grant.what}"
    size = grant.size + _size(document, fields)
    return [Change(what, "administrator", size, near.profile, fields, grant.commands)]


def _another_name(document: DecisionDocument) -> list[Change]:
    """Propose to name another profile: what the others cover is not on record."""
    named = document.named
    if named is None or not named.path:
        return []
    if named.path == PROFILE_PATH:
        what = f"take away {PROFILE_PATH} (it names {named.profile}), or name another profile there"
    else:
        what = (
            f"name a profile in the Pod itself ({PROFILE_PATH}), which counts before "
            f"{named.profile}, the one that its namespace names"
        )
    return [_by_author(document, f"{what}: {_chosen_then(document)}", 1)]


def _chosen_then(document: DecisionDocument) -> str:
    needed = [p for p in dict.fromkeys(n.privilege for n in document.needs) if is_special(p)]
    left = len(needed) - _SHOWN
    needed[_SHOWN:] = [f"{left} more"] if left > 0 else []
    covers = f", if one covers {' and '.join(needed)}" if needed else ""
    return f"another profile may be chosen then{covers}."


def _ceiling_matters(document: DecisionDocument) -> bool:
    """Return whether the ceiling keeps out what is named, or all that would cover."""
    if document.named is not None:
        return document.named.profile not in (document.ceiling or ())
    return not any(map(_covers, document.tried))


def _wider_ceiling(document: DecisionDocument) -> Change:
    left = join_words(document.ceiling, _SHOWN) if document.ceiling else "no profile"
    place = f"namespace {document.request.namespace} ({names.CEILING_ANNOTATION})"
    what = f"ask an administrator to widen the ceiling of {place}, which leaves {left}"
    return Change(f"{what}: {_chosen_then(document)}", "administrator", _GRANT_SIZE)
