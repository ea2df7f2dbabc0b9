"""Differences between what Azure allows and a WeightStore with its live grants. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from core.weights.documents.store_access import (
    DATA,
    ROUNDABOUT,
    Ability,
    AccessDifference,
    DifferenceKind,
    Holder,
)
from core.weights.stores import StoreIdentity, WeightStore
from identity.azure_roles.arm_responses import Account, Diagnostic

MOST: Final = 500
"""Differences of one store that are told; the status of the store says how many there are."""

_CATEGORIES: Final = frozenset({"storageread", "storagewrite", "storagedelete"})
_GROUPS: Final = frozenset({"alllogs", "audit"})
_APPROVED: Final = "approved"

Who = frozenset[str]
"""The ids of one principal: object id and client id, as far as they are known."""

_TAKE_OR_LIST: Final = "Take the role away, or list the identity in the WeightStore."

_NARROW: Final = "Give a narrower role, or list the right."

_TIE: Final = "Take the role away until somebody is granted it, or let control tie it to grants."

_SEPARATE: Final = (
    "Keep these actions with few people of the platform, by a custom role without them for others."
)


@dataclass(frozen=True)
class GrantHolders:
    """Whom the grants that live now are about, of one store."""

    people: frozenset[str] = frozenset()
    """Object ids of people and groups, lower case."""
    identities: frozenset[str] = frozenset()
    """Client ids as which the service accounts that they name sign in, lower case."""


@dataclass(frozen=True)
class AccountDetails:
    """What else was read of the account; None: it could not be read."""

    account: Account | None = None
    diagnostics: Sequence[Diagnostic] | None = None


def find_differences(
    store: WeightStore, holders: Sequence[Holder], granted: GrantHolders, around: AccountDetails
) -> list[AccessDifference]:
    """Return all of them, those of principals first, at most MOST."""
    found = [*_of_principals(store, holders, granted), *_of_account(store, around)]
    return found[:MOST]


def ids_of(holder: Holder) -> Who:
    """Return the ids under which a holder can be listed."""
    return frozenset(filter(None, (holder.principal, holder.client_id)))


def _of_principals(
    store: WeightStore, holders: Sequence[Holder], granted: GrantHolders
) -> Iterator[AccessDifference]:
    listed = list(store.spec.identities or ())
    of: defaultdict[str, list[Holder]] = defaultdict(list)
    for holder in holders:
        if not holder.container or store.holds(store.spec.account, holder.container):
            of[holder.principal].append(holder)
    for principal, theirs in sorted(of.items()):
        yield from _of_one(principal, theirs, listed, granted)
    known: set[str] = set().union(*(ids_of(one) for theirs in of.values() for one in theirs))
    for one in listed:
        if not known & {one.client_id, one.object_id}:
            yield AccessDifference(
                difference=DifferenceKind.ABSENT,
                principal=one.object_id or one.client_id or "",
                abilities=[Ability(right) for right in one.rights],
                detail="is listed in the WeightStore, and no role assignment opens it to them",
                remedy="Take it off the list, or give it the role.",
            )


def _of_one(
    principal: str, theirs: Sequence[Holder], listed: Iterable[StoreIdentity], granted: GrantHolders
) -> Iterator[AccessDifference]:
    abilities = {way for one in theirs for way in one.abilities}
    ids: set[str] = set().union(*map(ids_of, theirs))
    roles = ", ".join(sorted({f"{one.role} at {one.scope or '/'}" for one in theirs})[:4])
    data = abilities & DATA
    entries = [one for one in listed if ids & {one.client_id, one.object_id}]
    allowed = {Ability(right) for one in entries for right in one.rights}
    if data and not entries:
        detail = f"can {_words(data)}: {roles}; the WeightStore does not list it"
        yield _about(DifferenceKind.UNLISTED, principal, data, detail, _TAKE_OR_LIST)
    elif wider := data - allowed:
        detail = f"can {_words(wider)} beside what the WeightStore lists: {roles}"
        yield _about(DifferenceKind.WIDER, principal, wider, detail, _NARROW)
    if data and not ids & (granted.people | granted.identities):
        detail = f"can {_words(data)} now, and no AccessGrant that lives is about it: {roles}"
        yield _about(DifferenceKind.UNGRANTED, principal, data, detail, _TIE)
    if around := abilities & (ROUNDABOUT | {Ability.DELEGATE} if not data else ROUNDABOUT):
        detail = f"can {_words(around)}: {roles}: that leads to the weights, past every grant"
        yield _about(DifferenceKind.ROUNDABOUT, principal, around, detail, _SEPARATE)


def _of_account(store: WeightStore, around: AccountDetails) -> Iterator[AccessDifference]:
    if around.account is not None:
        of = around.account.properties
        if of.allow_shared_key_access is not False:
            detail = "the account accepts its keys and SAS signed with them: those are nobody's"
            yield _about(
                DifferenceKind.SHARED_KEY, "", (), detail, "Set allowSharedKeyAccess: false."
            )
        if of.allow_blob_public_access:
            detail = "containers of the account may be made public"
            remedy = "Set allowBlobPublicAccess: false."
            yield _about(DifferenceKind.ANONYMOUS, "", (), detail, remedy)
        closed = (of.public_network_access or "Enabled").lower() in {
            "disabled",
            "securedbyperimeter",
        }
        if not closed:
            acls = of.network_acls.default_action if of.network_acls else "Allow"
            some = "from the networks of its firewall" if acls == "Deny" else "from everywhere"
            detail = f"its public endpoint answers {some}"
            remedy = "Set publicNetworkAccess: Disabled, and use the private endpoint."
            yield _about(DifferenceKind.PUBLIC_NETWORK, "", (), detail, remedy)
        connections = of.private_endpoint_connections or ()
        states = [one.properties.private_link_service_connection_state for one in connections]
        if not any(one.status.lower() == _APPROVED for one in states):
            detail = "it has no private endpoint whose connection is approved"
            remedy = "Make one, and name its address in the WeightStore."
            yield _about(DifferenceKind.NO_PRIVATE_ENDPOINT, "", (), detail, remedy)
    if around.diagnostics is not None:
        yield from _of_logs(store, around.diagnostics)


def _of_logs(store: WeightStore, diagnostics: Sequence[Diagnostic]) -> Iterator[AccessDifference]:
    missing = set(_CATEGORIES)
    for one in diagnostics:
        to = one.properties
        if not (to.storage_account_id or to.event_hub_authorization_rule_id or to.workspace_id):
            continue
        for log in to.logs:
            if log.enabled:
                group = (log.category_group or "").lower() in _GROUPS
                missing -= _CATEGORIES if group else {(log.category or "").lower()}
        if (to.storage_account_id or "").lower().endswith(f"/{store.spec.account}"):
            detail = "its logs go to the account itself: who can write there can rewrite them"
            remedy = "Send them to an account of another team, or to an event hub."
            yield _about(DifferenceKind.LOG_IN_REACH, "", (), detail, remedy)
    if missing:
        detail = f"no diagnostic setting sends {', '.join(sorted(missing))} anywhere"
        remedy = "Make one for StorageRead, StorageWrite and StorageDelete of its blob service."
        yield _about(DifferenceKind.UNLOGGED, "", (), detail, remedy)


def _about(
    difference: DifferenceKind,
    principal: str,
    abilities: Iterable[Ability],
    detail: str,
    remedy: str,
) -> AccessDifference:
    order = list(Ability)
    return AccessDifference(
        difference=difference,
        principal=principal,
        abilities=sorted(abilities, key=order.index),
        detail=detail,
        remedy=remedy,
    )


def _words(abilities: Iterable[Ability]) -> str:
    order = list(Ability)
    return ", ".join(way.value for way in sorted(abilities, key=order.index))


def count_differences(found: Iterable[AccessDifference]) -> Mapping[DifferenceKind, int]:
    """Count them, for metrics and conditions."""
    counts: dict[DifferenceKind, int] = {}
    for one in found:
        counts[one.difference] = counts.get(one.difference, 0) + 1
    return counts
