"""How what Azure allows differs from what is written."""

from typing import Any

import msgspec

from core.weights.documents.store_access import Ability, AccessDifference, DifferenceKind
from identity.azure_roles.arm_responses import Account, Diagnostic
from identity.azure_roles.differences import AccountDetails, GrantHolders, find_differences
from tests.unit.identity.azure_roles.roles import (
    ACCOUNT,
    ALICE,
    CONTRIBUTOR,
    DATA_OWNER,
    READER,
    TRAINER,
    TRAINER_CLIENT,
    assignment,
    held,
    store,
)

LISTED = {"clientId": TRAINER_CLIENT, "objectId": TRAINER, "rights": ["read"]}
NOBODY = GrantHolders()
CLOSED = {
    "allowSharedKeyAccess": False,
    "publicNetworkAccess": "Disabled",
    "privateEndpointConnections": [
        {"properties": {"privateLinkServiceConnectionState": {"status": "Approved"}}}
    ],
}


def account(**properties: Any) -> Account:
    """Return a storage account."""
    return msgspec.convert({"id": ACCOUNT, "properties": properties}, Account)


def diagnostic(**properties: Any) -> Diagnostic:
    """Return a diagnostic setting."""
    return msgspec.convert({"properties": properties}, Diagnostic)


def kinds(found: list[AccessDifference]) -> list[tuple[DifferenceKind, str]]:
    """Return what differs, and of whom."""
    return [(one.difference, one.principal) for one in found]


def test_nothing_differs_where_all_is_as_written() -> None:
    """A listed identity with its right, granted, on a closed and logged account."""
    logs = [{"enabled": True, "categoryGroup": "allLogs"}]
    around = AccountDetails(account(**CLOSED), [diagnostic(workspaceId="/w", logs=logs)])
    granted = GrantHolders(identities=frozenset({TRAINER_CLIENT}))
    holders = [
        msgspec.structs.replace(one, client_id=TRAINER_CLIENT)
        for one in held(READER, assignment(TRAINER))
    ]
    assert find_differences(store(identities=[LISTED]), holders, granted, around) == []


def test_who_is_not_listed_is_told_and_so_is_who_has_no_grant() -> None:
    """Both are said of the same person, each with its remedy."""
    found = find_differences(store(), held(READER, assignment(ALICE)), NOBODY, AccountDetails())
    assert kinds(found) == [(DifferenceKind.UNLISTED, ALICE), (DifferenceKind.UNGRANTED, ALICE)]
    assert found[0].abilities == [Ability.READ]
    assert "R at" in found[0].detail


def test_a_grant_of_a_person_or_an_identity_counts() -> None:
    """Whoever is granted is not said to be ungranted."""
    holders = held(READER, assignment(ALICE))
    found = find_differences(
        store(), holders, GrantHolders(people=frozenset({ALICE})), AccountDetails()
    )
    assert kinds(found) == [(DifferenceKind.UNLISTED, ALICE)]


def test_more_than_is_listed_is_wider() -> None:
    """Listed to read, and able to write and delete."""
    holders = held(DATA_OWNER, assignment(TRAINER))
    granted = GrantHolders(people=frozenset({TRAINER}))
    found = find_differences(store(identities=[LISTED]), holders, granted, AccountDetails())
    assert (DifferenceKind.WIDER, TRAINER) in kinds(found)
    wider = next(one for one in found if one.difference is DifferenceKind.WIDER)
    assert wider.abilities == [Ability.WRITE, Ability.DELETE]


def test_role_that_lists_keys_is_a_difference() -> None:
    """Contributor opens no blob, and lists the account's keys."""
    found = find_differences(
        store(), held(CONTRIBUTOR, assignment(ALICE)), NOBODY, AccountDetails()
    )
    assert kinds(found) == [(DifferenceKind.ROUNDABOUT, ALICE)]
    assert Ability.KEYS in found[0].abilities


def test_listed_identity_without_a_role_is_a_difference() -> None:
    """The list says more than Azure gives."""
    found = find_differences(store(identities=[LISTED]), [], NOBODY, AccountDetails())
    assert kinds(found) == [(DifferenceKind.ABSENT, TRAINER)]


def test_a_role_on_another_container_is_of_no_concern() -> None:
    """A container that holds no weights of the store."""
    scope = f"{ACCOUNT}/blobServices/default/containers/scratch"
    assert (
        find_differences(store(), held(READER, assignment(ALICE, scope)), NOBODY, AccountDetails())
        == []
    )


def test_an_open_account_is_told_as_azure_defaults_it() -> None:
    """What an account does not say is open: keys, the public endpoint, no private one."""
    found = find_differences(
        store(), [], NOBODY, AccountDetails(account(allowBlobPublicAccess=True), [])
    )
    assert [one.difference for one in found] == [
        DifferenceKind.SHARED_KEY,
        DifferenceKind.ANONYMOUS,
        DifferenceKind.PUBLIC_NETWORK,
        DifferenceKind.NO_PRIVATE_ENDPOINT,
        DifferenceKind.UNLOGGED,
    ]


def test_logs_in_the_account_itself_are_told() -> None:
    """Who opens the store could rewrite them."""
    logs = [{"enabled": True, "category": name} for name in ("StorageRead", "StorageWrite")]
    own = diagnostic(storageAccountId=ACCOUNT, logs=logs)
    found = find_differences(store(), [], NOBODY, AccountDetails(account(**CLOSED), [own]))
    assert [one.difference for one in found] == [
        DifferenceKind.LOG_IN_REACH,
        DifferenceKind.UNLOGGED,
    ]
    assert "storagedelete" in found[1].detail
