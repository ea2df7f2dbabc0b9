"""Which AccessGrants cover an access path to model weights, and why the others do not. Pure.

Whether one is in force is said by `core.weights.grants_in_force`, and whether two people have
approved it is asked in `admission.weights`.
"""

import hashlib
from typing import Final

import msgspec

from core.base.times import time_text
from core.people.subject import Subject
from core.people.two_person import person_of
from core.weights.access_grants import AccessGrant
from core.weights.access_paths import AccessPath
from core.weights.grants_in_force import GrantLapse, find_lapse

MOST_NOTED: Final = 8
"""Grants noted on one workload."""

_DIGITS: Final = 12


class GrantAsker(msgspec.Struct, frozen=True, gc=False):
    """The human behind a request, as far as a grant may name them."""

    marks: frozenset[str] = frozenset()
    """`oid:…` and `user:…`, in lower case."""
    groups: frozenset[str] = frozenset()
    noted: frozenset[str] = frozenset()
    """What is noted on the workload that it is made for: grants that named its author then."""
    unasked: bool = False
    """Whether nobody knows who asks, and it does not matter: of what runs, or of a file."""


NOBODY: Final = GrantAsker()
"""Somebody whom nothing noted."""

ANYBODY: Final = GrantAsker(unasked=True)


def asker_of(subject: Subject) -> GrantAsker:
    """Return who asks now."""
    marks = {subject.label.lower(), _digest(subject.username), *person_of(subject)}
    return GrantAsker(frozenset(filter(_is_mark, marks)), frozenset(subject.groups))


def asker_of_note(label: str, noted: str) -> GrantAsker:
    """Return who asked first, by what is noted of them: their groups are not known any more."""
    mark = label.lower() if _is_mark(label) else _digest(label)
    return GrantAsker(frozenset({mark}), noted=frozenset(filter(None, noted.split(","))))


def _digest(username: str) -> str:
    """Return the mark of a user name; also of an identity of the cluster's, whose label is none."""
    return f"user:{hashlib.sha256(username.encode()).hexdigest()[:16]}"


def _is_mark(text: str) -> bool:
    return text.startswith(("oid:", "user:"))


def note_of_grant(grant: AccessGrant) -> str:
    """Return what is noted of a grant: which, and whom it names."""
    named = msgspec.json.encode([sorted(grant.spec.people or ()), sorted(grant.spec.groups or ())])
    digest = hashlib.sha256(named).hexdigest()[:_DIGITS]
    return f"{grant.meta.name}@{grant.meta.uid}#{digest}"


def why_not_covered(
    grant: AccessGrant, way: AccessPath, account: str, asker: GrantAsker, now: float
) -> str:
    """Say why a grant does not cover a way of a Pod of a service account; empty if it does.

    Who has approved it is not looked at.
    """
    lapse = find_lapse(grant, now, approved=True)
    if lapse is not None:
        return describe_lapse(lapse, grant)
    if account not in (grant.spec.service_accounts or ()):
        return f"it does not name the service account {account}"
    if not grant.covers_place(way.container, ""):
        return f"it is about the container {grant.spec.container}"
    if way.rights.isdisjoint(grant.spec.rights):
        return f"it gives no right of those that this is about ({', '.join(sorted(way.rights))})"
    return _whom(grant, asker)


def describe_lapse(lapse: GrantLapse, grant: AccessGrant) -> str:
    """Say why a grant is not in force now."""
    if lapse is GrantLapse.NOT_BEGUN:
        return f"it begins at {time_text(grant.begins)}"
    if lapse is GrantLapse.EXPIRED:
        return f"it expired at {time_text(grant.expires)}"
    return "it is being deleted" if lapse is GrantLapse.DELETED else "not approved"


def _whom(grant: AccessGrant, asker: GrantAsker) -> str:
    if asker.unasked or not asker.marks.isdisjoint(grant.spec.people or ()):
        return ""
    if not asker.groups.isdisjoint(grant.spec.groups or ()):
        return ""
    if note_of_grant(grant) in asker.noted:
        return ""
    return "it does not name who asked for it" if asker.marks else "nobody noted who asked for it"
