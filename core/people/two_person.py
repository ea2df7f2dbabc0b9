"""The two-person rule: what counts only once two people have approved it. Pure.

A person is the set of marks by which they are known: the digest of the user name and, where there
is one, the Entra object id. Two accounts that share a mark are one person, and so are two that a
third one links: somebody counts as one person rather than as two.
"""

import enum
import hashlib
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from core.base import names
from core.base.sallyport_objects import UntypedObject
from core.people.subject import SERVICE_ACCOUNT_PREFIX, Subject

Person = frozenset[str]
"""The marks of one person."""

PEOPLE_NEEDED: Final = 2

SHARED_ACCOUNTS: Final = frozenset(
    {"clusteradmin", "clusteruser", "kubernetes-admin", "kubernetes-super-admin", "masterclient"}
)
"""Accounts that more than one person may hold, in lower case: those of AKS's local accounts
(`az aks get-credentials --admin`; the certificate's name is `masterclient`) and of kubeadm's
admin.conf and super-admin.conf."""

_ALL_RIGHTS: Final = "system:masters"
"""Whoever is in it comes by a certificate that kube-apiserver cannot revoke and anyone may hold."""

_CLUSTERS_OWN: Final = "system:"


class Approvable(msgspec.Struct, frozen=True):
    """What needs approval, and who wrote it."""

    uid: str
    digest: str
    author: Person
    """Empty where nobody recorded it: then nothing approves it."""
    editors: tuple[Person, ...] = ()


class Consent(msgspec.Struct, frozen=True):
    """One approval, as the webhook recorded it."""

    approval: str
    """UID of the Approval."""
    approver: Subject
    uid: str
    digest: str
    expires: float
    withdrawn: bool = False
    given: float = 0.0
    """When, by kube-apiserver's clock, in Unix seconds; 0 where nobody recorded it."""


@dataclass(frozen=True)
class AtRisk:
    """Somebody is at risk now."""

    sure_before: float = 0.0
    """Unix seconds: what they did before was their own doing, as far as detections reach back;
    0 where nothing was."""


RiskOf = Callable[[Collection[str]], AtRisk | None]
"""Says by the marks of one person (`oid:…`, `user:…`) whether they are at risk now."""


def nobody_at_risk(_: Collection[str]) -> AtRisk | None:
    """Say of everybody that they are not at risk: where nothing is known of it."""
    return None


@dataclass(frozen=True)
class ApprovalTerms:
    """What an installation says of people."""

    shared_accounts: frozenset[str] = SHARED_ACCOUNTS
    """User names in lower case."""
    profiles: bool = False
    """Whether creating or widening a ContainerProfile needs approval."""
    at_risk: RiskOf = nobody_at_risk
    """Who is at risk, asked each time: what is decided by it ends when the risk does."""
    suspends: bool = False
    """Whether exceptions and grants count for nothing while somebody who wrote them is at risk."""


ORDINARY_TERMS: Final = ApprovalTerms()
"""Those of an installation that says nothing."""


class ConsentLapse(enum.Enum):
    """Why an approval does not count."""

    OWN = "own"
    """Its approver wrote what it approves."""
    CHANGED = "changed"
    """What it approves changed since."""
    WITHDRAWN = "withdrawn"
    EXPIRED = "expired"
    NEVER_APPROVES = "never-approves"
    """Its approver is no person, or one whom the installation never believes."""
    NO_RIGHT = "no-right"
    AT_RISK = "at-risk"


@dataclass(frozen=True)
class JudgedConsent:
    """One approval of an object, and why it does not count."""

    consent: Consent
    person: int
    """Tells its approver from the other people of the same object."""
    lapse: ConsentLapse | None
    """None where it counts."""
    why: str
    """The same for a person to read; empty where it counts."""


@dataclass(frozen=True)
class Approved:
    """Two people have approved it."""

    approvers: tuple[str, ...]
    """`Subject.label` of each whose approval counts."""


@dataclass(frozen=True)
class NotApproved:
    """They have not: why not, for a person to read."""

    reasons: tuple[str, ...]
    suspended: bool = False
    """Whether nobody was asked, since somebody who wrote it is at risk."""


def person_of(subject: Subject) -> Person:
    """Return the marks by which a subject is known; user names are compared without case."""
    if subject.username.startswith(_CLUSTERS_OWN):
        return frozenset({subject.username})
    digest = hashlib.sha256(subject.username.casefold().encode()).hexdigest()[:16]
    label = subject.label
    oid = {label.lower()} if label.startswith("oid:") else set()
    return frozenset({f"user:{digest}", *oid})


def write_person(person: Person) -> str:
    """Write a person into an annotation: the marks, with a space between."""
    return " ".join(sorted(person))


def read_person(text: str) -> Person:
    """Read a person from an annotation; empty for none."""
    return frozenset(text.split())


def write_people(people: Iterable[Person]) -> str:
    """Write people into an annotation: with a comma between."""
    return ", ".join(map(write_person, people))


def read_people(text: str) -> tuple[Person, ...]:
    """Read people from an annotation."""
    return tuple(filter(None, map(read_person, text.split(","))))


def approvable_of(written: UntypedObject) -> Approvable:
    """Return what is approved of an object, and who wrote it, as the webhook recorded it."""
    meta = written.meta
    return Approvable(
        uid=meta.uid,
        digest=written.digest,
        author=read_person(meta.annotation(names.AUTHOR_ANNOTATION)),
        editors=read_people(meta.annotation(names.EDITORS_ANNOTATION)),
    )


def why_may_not_approve(subject: Subject, terms: ApprovalTerms, deed: str = "approve") -> str:
    """Say why this subject may approve nothing now, whoever wrote it; empty if they may.

    `deed` is what they want to do, where what only approvers may do is something else.
    """
    if why := _never_approves(subject, terms, deed):
        return why
    if terms.at_risk(_marks(subject)):
        return f"someone at risk cannot {deed} until the risk is gone"
    return ""


def why_may_not_activate(subject: Subject, terms: ApprovalTerms) -> str:
    """Say why this subject does not open a BreakGlass now; empty if it may, as local admins may."""
    if subject.username.startswith(SERVICE_ACCOUNT_PREFIX):
        return "a service account cannot activate it: a person must"
    of_cluster = subject.username.startswith(_CLUSTERS_OWN) and _ALL_RIGHTS not in subject.groups
    if not subject.username or of_cluster:
        return "an identity of the cluster cannot activate it: a person must"
    if _is_application(subject):
        return "an application of Entra ID cannot activate it: a person must"
    if terms.at_risk(_marks(subject)):
        return "someone at risk cannot activate it until the risk is gone"
    return ""


def why_suspended(what: Approvable, terms: ApprovalTerms) -> str:
    """Say why an exception is suspended now; empty where it is not.

    Nothing is written: it is in force again when whoever wrote it is not at risk any more. Entra's
    word may be old; who was last known to be at risk stays so.
    """
    if not terms.suspends:
        return ""
    if terms.at_risk(what.author):
        return "its author is at risk: suspended until the risk is gone"
    if any(terms.at_risk(each) for each in what.editors):
        return "one of its editors is at risk: suspended until the risk is gone"
    return ""


def stays_open(opener: Person, began: float, terms: ApprovalTerms) -> bool:
    """Return whether what somebody opened then (Unix seconds) stays so, at risk as they may be."""
    risk = terms.at_risk(opener)
    return risk is None or began < risk.sure_before


def is_writer(person: Person, what: Approvable) -> bool:
    """Return whether a person is the author or one of the later editors."""
    return any(person & writer for writer in (what.author, *what.editors))


def judge_approval(  # noqa: PLR0913  All that the rule looks at.
    what: Approvable,
    consents: Sequence[Consent],
    holders: Collection[str],
    now: float,
    terms: ApprovalTerms,
    *,
    endures: bool = False,
) -> Approved | NotApproved:
    """Return the approval of an object as it is by two people who may still give it, or why none.

    What somebody approved does not count while they are at risk: a stolen session may have given
    it, and what nobody stole counts again once the risk is gone. With `endures`, it counts where it
    was given before anything that the risk rests on can have happened (`AtRisk.sure_before`). That
    is for BreakGlasses, which must open also when the source of risk is wrong about many at once:
    they are sealed beforehand, so what was approved in good time is not the thief's; whoever opens
    them must not be at risk, or be the local admin; and what the thief approves is never of before.

    `holders` are the UIDs of the approvals whose approver has the right to approve now.
    """
    if not (what.author and what.uid):
        return NotApproved(("nobody recorded its author: delete it and create it again",))
    judged = judge_consents(what, consents, holders, now, terms, endures=endures)
    counted: dict[int, str] = {}
    for each in judged:
        if each.lapse is None:
            counted.setdefault(each.person, each.consent.approver.label)
    if len(counted) >= PEOPLE_NEEDED:
        return Approved(tuple(counted.values()))
    have = f"{len(counted)} of {PEOPLE_NEEDED} people have approved it as it is"
    reasons = (f"{each.consent.approver.label}: {each.why}" for each in judged if each.lapse)
    return NotApproved((have, *reasons))


def judge_consents(  # noqa: PLR0913  As `judge_approval`.
    what: Approvable,
    consents: Sequence[Consent],
    holders: Collection[str],
    now: float,
    terms: ApprovalTerms,
    *,
    endures: bool = False,
) -> tuple[JudgedConsent, ...]:
    """Return each approval of an object with why it does not count; arguments as `judge_approval`.

    Of what has no author nobody's approval is their own: a change that is not written yet.
    """
    of_it = [each for each in consents if each.uid == what.uid]
    wrote = [each for each in (what.author, *what.editors) if each]
    people = join_people([*wrote, *(person_of(each.approver) for each in of_it)])
    writers = {_who(people, writer) for writer in wrote}
    found = []
    for consent in of_it:
        who = _who(people, person_of(consent.approver))
        lapse, why = None, ""
        if who in writers:
            lapse, why = ConsentLapse.OWN, "its author or an editor approved it"
        else:
            refused = _refused(what, consent, holders, now, terms)
            lapse, why = refused or _risky(consent, people[who], terms, endures) or (None, "")
        found.append(JudgedConsent(consent, who, lapse, why))
    return tuple(found)


def approved_until(judged: Iterable[JudgedConsent]) -> float | None:
    """Return when approvals that count become too few, in Unix seconds; None where they are."""
    ends: dict[int, float] = {}
    for each in judged:
        if each.lapse is None:
            ends[each.person] = max(each.consent.expires, ends.get(each.person, 0.0))
    last = sorted(ends.values(), reverse=True)
    return last[PEOPLE_NEEDED - 1] if len(last) >= PEOPLE_NEEDED else None


def _refused(
    what: Approvable, consent: Consent, holders: Collection[str], now: float, terms: ApprovalTerms
) -> tuple[ConsentLapse, str] | None:
    """Return why one approval does not count; None if it does."""
    if consent.digest != what.digest:
        return ConsentLapse.CHANGED, "approved it as it was before it changed"
    if consent.withdrawn:
        return ConsentLapse.WITHDRAWN, "the approval is being withdrawn"
    if now >= consent.expires:
        return ConsentLapse.EXPIRED, "the approval has expired"
    if why := _never_approves(consent.approver, terms):
        return ConsentLapse.NEVER_APPROVES, why
    if consent.approval not in holders:
        return ConsentLapse.NO_RIGHT, "no longer has the right to approve"
    return None


def _risky(
    consent: Consent,
    marks: Person,
    terms: ApprovalTerms,
    endures: bool,  # noqa: FBT001
) -> tuple[ConsentLapse, str] | None:
    """Return that an approval does not count for its approver's risk; None if it does."""
    risk = terms.at_risk({*marks, *_marks(consent.approver)})
    if risk is None or (endures and 0.0 < consent.given < risk.sure_before):
        return None
    return ConsentLapse.AT_RISK, "is at risk now: it does not count until the risk is gone"


def _never_approves(subject: Subject, terms: ApprovalTerms, deed: str = "approve") -> str:
    """Say why a subject never approves anything; empty if it may."""
    if subject.username.startswith(SERVICE_ACCOUNT_PREFIX):
        return f"a service account cannot {deed}: a person must"
    if not subject.username or subject.username.startswith(_CLUSTERS_OWN):
        return f"an identity of the cluster cannot {deed}: a person must"
    if _is_application(subject):
        return f"an application of Entra ID cannot {deed}: a person must"
    if _ALL_RIGHTS in subject.groups:
        return f"a member of {_ALL_RIGHTS} cannot {deed}: its certificate is anyone's who has it"
    if subject.username.casefold() in terms.shared_accounts:
        return f"a shared account cannot {deed}: sign in as yourself"
    return ""


def _is_application(subject: Subject) -> bool:
    """Return whether a subject is an application of Entra's: its user name is its object id.

    AKS takes the user principal name, and the object id where a token has none, as those of
    applications do. Whoever holds its key is not known, so it is nobody's consent.
    """
    return subject.label.lower() == f"oid:{subject.username.lower()}"


def _marks(subject: Subject) -> Person:
    """Return all by which the risk of a subject may be known.

    The user name of Entra's applications is their object id.
    """
    return person_of(subject) | {subject.label, f"oid:{subject.username.lower()}"}


def join_people(people: Iterable[Person]) -> list[Person]:
    """Return each person once: those that share a mark are one, also by way of others."""
    groups: list[Person] = []
    for person in people:
        linked = [group for group in groups if group & person]
        groups = [group for group in groups if not group & person]
        groups.append(person.union(*linked))
    return groups


def _who(people: Sequence[Person], person: Person) -> int:
    return next(place for place, group in enumerate(people) if group >= person)
