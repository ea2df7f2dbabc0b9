"""Finds the AccessGrant that covered an access when it was made. Pure.

All is in the history of grants.
"""

from collections.abc import Callable, Collection, Iterator
from typing import Final, NamedTuple

from audit.access.attribution.candidates import PodAttribution
from audit.access.attribution.grant_history import GrantHistory, GrantTerm
from audit.access.attribution.histories import Histories
from audit.access.attribution.lives import Life
from core.base.ids import uuid7_unix_ms
from core.weights.documents.access import Access, Act, SignedBy
from core.weights.grants_in_force import GrantLapse, find_lapse
from core.weights.stores import Right

_RIGHTS: Final[dict[Act, Right]] = {
    Act.READ: "read",
    Act.LIST: "read",
    Act.WRITE: "write",
    Act.DELETE: "delete",
    Act.COPY: "write",
    Act.OTHER: "read",
}
"""A copy writes where its record says, and reads in a record of its own. Of an operation that no
release knew, reading is the least that it does."""

_SIGNED: Final = {
    SignedBy.ACCOUNT_KEY: "signed with the account's key",
    SignedBy.SAS: "signed with a SAS of the account's key",
    SignedBy.DELEGATION_SAS: "signed with a delegated SAS that no Pod of its maker's used",
    SignedBy.ANONYMOUS: "anonymous",
}

GrantRefusal = Callable[[GrantTerm], str]
"""Says why a grant is not for somebody; empty where it is."""

_MOST_TOLD: Final = 50
"""Grants of others that are looked at for the nearest reason: there may be thousands."""

_BEARER: Final = "no grant is given to whoever holds it"


class GrantCoverage(NamedTuple):
    """The grant that covered an access, or why none did; both empty where it is of no weights."""

    grant: str = ""
    ungranted: str = ""


class PodAuthority(NamedTuple):
    """One Pod's part in the question: as whom it runs, for whom, and what let it in."""

    namespace: str
    service_account: str
    requester: str
    admitted_under: tuple[str, ...]
    """Grants that its decision names: they let its requester in by name or by group."""


def find_covering_grant(
    access: Access, found: PodAttribution, histories: Histories, grants: GrantHistory
) -> GrantCoverage:
    """Say which live, twice-approved grant covered an access.

    Where several Pods can have made it, each must be covered, and so must each of several
    decisions that can have admitted one: nobody is excused by another's grant.
    """
    if not access.store:
        return GrantCoverage()
    if not found.lives:
        return _unattributed(access, found, grants.about(access.store))
    behind = sorted({one for life in found.lives for one in _behind(life, histories)})
    answers = [_of_pod(access, one, grants) for one in behind]
    refused = [answer.ungranted for answer in answers if not answer.grant]
    if not refused:
        return GrantCoverage(min(answer.grant for answer in answers))
    if len(refused) < len(answers):
        return GrantCoverage("", f"of those that it can have been, some had no grant: {refused[0]}")
    return GrantCoverage("", refused[0])


def needed_right(access: Access) -> Right:
    """Return the right that an access needs."""
    if access.act is Act.POLICY:
        return "read" if access.operation.startswith("Get") else "write"
    return _RIGHTS[access.act]


def _behind(life: Life, histories: Histories) -> Iterator[PodAuthority]:
    namespace, _, account = life.service_account.partition("/")
    for _, admission in histories.admission(life).decisions:
        yield PodAuthority(namespace, account, admission.requester, admission.grants)


def _unattributed(
    access: Access, found: PodAttribution, terms: Collection[GrantTerm]
) -> GrantCoverage:
    if access.signed_by is not SignedBy.OAUTH:
        return GrantCoverage("", f"{_SIGNED.get(access.signed_by, 'nobody signed in')}: {_BEARER}")
    unknown = found.attribution.gaps
    if found.accounts:
        accounts = ", ".join(found.accounts[:3])
        why = f"it comes from no Pod of {accounts}"
        return GrantCoverage("", f"{why} that the record, which has a gap, names" * unknown or why)
    return _best(access, terms, lambda term: _refuses_person(term, access, unknown=unknown))


def _of_pod(access: Access, behind: PodAuthority, grants: GrantHistory) -> GrantCoverage:
    """Look at the grants that name its service account; at all others only for what to say."""
    own = grants.naming(access.store, behind.namespace, behind.service_account)
    terms = own or grants.about(access.store)[:_MOST_TOLD]
    return _best(access, terms, lambda term: _refuses_pod(term, behind))


def _best(access: Access, terms: Collection[GrantTerm], refuses: GrantRefusal) -> GrantCoverage:
    """Return the first grant that covers; else the reason of the one that came nearest."""
    best = (0, f"there is no AccessGrant of {access.store}")
    for term in terms:
        near, why = _refused(term, access, refuses)
        if not why:
            return GrantCoverage(term.grant.id)
        if near > best[0]:
            grant = term.grant.meta
            best = (near, f"AccessGrant {grant.namespace}/{grant.name} {why}")
    return GrantCoverage("", best[1])


def _refused(term: GrantTerm, access: Access, refuses: GrantRefusal) -> tuple[int, str]:
    """Say why a grant does not cover, and how near it came; empty where it does."""
    if not term.grant.covers_place(access.container, access.blob):
        return 1, "is not about that blob"
    right = needed_right(access)
    if right not in term.grant.spec.rights:
        return 2, f"does not give the right to {right}"
    if why := refuses(term):
        return 3, why
    return _out_of_force(term, uuid7_unix_ms(access.id) / 1000)


def _out_of_force(term: GrantTerm, at: float) -> tuple[int, str]:
    """Say why a grant was not in force at a time in Unix seconds, and how near it was.

    The record's term says what nobody else knows any more: what was approved then, and until when
    the grant was as it was.
    """
    spec = term.grant.spec
    lapse = find_lapse(term.grant, at, approved=term.approved)
    if lapse is GrantLapse.NOT_BEGUN:
        return 4, f"begins only at {spec.not_before}"
    if lapse is GrantLapse.EXPIRED:
        return 6, f"had expired at {spec.expires_at}"
    if lapse is GrantLapse.NOT_APPROVED:
        return 5, "was not approved by two people"
    if lapse is not None or not term.begin <= at < term.end:
        return 4, "was not in force then"
    return 0, ""


def _refuses_pod(term: GrantTerm, behind: PodAuthority) -> str:
    meta, spec = term.grant.meta, term.grant.spec
    if behind.namespace != meta.namespace:
        return f"is of another namespace than {behind.namespace}"
    if behind.service_account not in (spec.service_accounts or ()):
        return f"does not name the service account {behind.service_account}"
    if term.grant.id in behind.admitted_under or behind.requester in (spec.people or ()):
        return ""
    if not behind.requester:
        return "names people, and nobody is known who asked for the Pod"
    return f"does not name {behind.requester}, who asked for the Pod"


def _refuses_person(term: GrantTerm, access: Access, *, unknown: bool) -> str:
    """Say why a grant is not for who signed in; `unknown`: a gap may hide the Pod that did."""
    if f"oid:{access.principal}" in (term.grant.spec.people or ()):
        return ""
    if unknown and (accounts := term.grant.spec.service_accounts):
        return (
            f"does not name {access.who}; whether that was a Pod of {', '.join(accounts[:3])} "
            "nobody knows: the record of Pods has a gap"
        )
    if term.grant.spec.groups:
        return f"does not name {access.who}; who is in its groups is not known here"
    return f"does not name {access.who}"
