"""What role assignments let somebody do to a storage account."""

import pytest

from core.weights.documents.store_access import Ability
from identity.azure_roles.effective_access import EVERYONE, applies, matches
from tests.unit.identity.azure_roles.roles import (
    ACCOUNT,
    ALICE,
    CONTRIBUTOR,
    DATA_OWNER,
    GROUP,
    OWNER,
    READER,
    SUBSCRIPTION,
    abilities,
    assignment,
    held,
)

BLOB = "Microsoft.Storage/storageAccounts/blobServices/containers/blobs"


def test_a_reader_of_data_reads_and_no_more() -> None:
    """Data actions give reading; no key, no role, no setting."""
    assert abilities(READER) == {Ability.READ}


def test_an_owner_has_no_data_action_and_every_way_around() -> None:
    """Owner opens no blob by itself, and can list keys, give itself a role, change the account."""
    found = abilities(OWNER)
    assert {Ability.KEYS, Ability.ASSIGN, Ability.CONFIGURE, Ability.DELEGATE} <= found
    assert not found & {Ability.READ, Ability.WRITE, Ability.DELETE}


def test_what_a_role_excludes_is_not_given() -> None:
    """Contributor has every action but to give roles."""
    found = abilities(CONTRIBUTOR)
    assert Ability.KEYS in found
    assert Ability.ASSIGN not in found


def test_a_data_owner_has_all_data_and_delegation() -> None:
    """The wildcard of data actions gives reading, writing, deleting."""
    wanted = {Ability.READ, Ability.WRITE, Ability.DELETE, Ability.DELEGATE, Ability.CONFIGURE}
    assert wanted <= abilities(DATA_OWNER)


def test_a_role_that_cannot_be_read_may_do_everything() -> None:
    """What is not known is not taken for nothing."""
    assert abilities(None) == set(Ability)


def test_a_super_user_reads() -> None:
    """Whoever may run as super user, or change permissions, may give themselves reading."""
    for action in ("runAsSuperUser/action", "modifyPermissions/action", "manageOwnership/action"):
        assert abilities({"dataActions": [f"{BLOB}/{action}"]}) == {Ability.READ}


@pytest.mark.parametrize(
    ("scope", "counts"),
    [
        ("/", True),
        (SUBSCRIPTION, True),
        (GROUP.upper(), True),
        (ACCOUNT, True),
        ("/providers/Microsoft.Management/managementGroups/all", True),
        (f"{GROUP}x", False),
        (f"{ACCOUNT}2", False),
        (f"{SUBSCRIPTION}/resourceGroups/other", False),
    ],
)
def test_an_assignment_counts_at_its_scope_and_below(scope: str, *, counts: bool) -> None:
    """Scopes end at a segment, and are compared without case."""
    assert bool(held(READER, assignment(ALICE, scope))) is counts


def test_an_assignment_of_a_container_is_of_that_container() -> None:
    """It names the container, and gives nothing of others."""
    scope = f"{ACCOUNT}/blobServices/default/containers/checkpoints"
    (found,) = held(READER, assignment(ALICE, scope))
    assert found.container == "checkpoints"


def test_deny_assignments_take_away() -> None:
    """Of whoever is named, unless spared; what only part of a way is denied stays."""
    denied = {"scope": GROUP, "permissions": [{"dataActions": [f"{BLOB}/*"]}]}
    everyone = {**denied, "principals": [{"id": EVERYONE}]}
    assert abilities(READER, denials=(everyone,)) == set()
    spared = {**everyone, "excludePrincipals": [{"id": ALICE.upper()}]}
    assert abilities(READER, denials=(spared,)) == {Ability.READ}
    (left,) = held(DATA_OWNER, assignment(ALICE), denials=(everyone,))
    assert left.denied
    assert Ability.READ not in left.abilities
    assert Ability.DELEGATE in left.abilities


def test_a_deny_assignment_of_the_group_alone_spares_what_is_below() -> None:
    """`doNotApplyToChildScopes` is of the scope itself."""
    denied = {
        "scope": GROUP,
        "principals": [{"id": ALICE}],
        "permissions": [{"dataActions": ["*"]}],
        "doNotApplyToChildScopes": True,
    }
    assert abilities(READER, denials=(denied,)) == {Ability.READ}
    assert abilities(READER, denials=({**denied, "scope": ACCOUNT},)) == set()


def test_conditions_are_told_not_evaluated() -> None:
    """An ABAC condition opens less than it seems: it is marked."""
    (found,) = held(READER, assignment(ALICE, condition="@Resource[...] StringEquals 'a'"))
    assert found.conditional


def test_patterns_are_compared_without_case_and_dots_are_dots() -> None:
    """`*` is any text, also over slashes; nothing else is special."""
    assert matches("microsoft.storage/*/READ", f"{BLOB}/read")
    assert not matches("MicrosoftXStorage/*", f"{BLOB}/read")
    assert applies("", ACCOUNT)
