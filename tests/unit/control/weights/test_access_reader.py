"""Who can open a store is read from Azure Resource Manager, and what cannot be read is a gap."""

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from control.weights.access.reader import AccessReader
from core.base.errors import EntraError, NotLeaderError
from core.weights.documents.store_access import DifferenceKind, StoreAccess
from core.weights.stores import WeightStore
from identity.azure_roles.arm_responses import AUTHORIZATION
from identity.azure_roles.differences import GrantHolders
from identity.clients.resource_manager import ResourceManager
from tests.harness.fakes.resource_manager import FakeResourceManager
from tests.unit.control.weights.azure_access import asking, azure_in
from tests.unit.identity.azure_roles.roles import (
    ACCOUNT,
    ALICE,
    CONTRIBUTOR,
    GROUP,
    READER,
    TRAINER,
    TRAINER_CLIENT,
    store,
)


@pytest.fixture
def azure(tmp_path: Path) -> Iterator[FakeResourceManager]:
    """An Azure Resource Manager whose tokens a fake Entra gives."""
    with azure_in(tmp_path) as manager:
        yield manager


def leading() -> None:
    """Lead."""


def read(azure: FakeResourceManager, what: WeightStore) -> StoreAccess:
    """Read who can open a store."""

    async def reading(manager: ResourceManager) -> StoreAccess:
        return await AccessReader(manager, time.time).read(what, GrantHolders(), leading)

    return asyncio.run(asking(azure, reading))


LISTED = {"clientId": TRAINER_CLIENT, "objectId": TRAINER, "rights": ["read"]}


def test_effective_assignments_are_read_over_pages(azure: FakeResourceManager) -> None:
    """Those above and below the account, from as many pages as there are."""
    reader, contributor = azure.put_role("Reader", **READER), azure.put_role("C", **CONTRIBUTOR)
    azure.put_account(ACCOUNT, allowSharedKeyAccess=False)
    azure.assign(GROUP, contributor, ALICE)
    azure.assign(ACCOUNT, reader, TRAINER, principalType="ServicePrincipal")
    for number in range(8):
        oid = f"dddddddd-0000-0000-0000-00000000000{number}"
        azure.assign(f"{ACCOUNT}/blobServices/default/containers/checkpoints", reader, oid)
    found = read(azure, store(identities=[LISTED]))
    assert len(found.holders) == 10
    assert found.complete
    trainer = next(one for one in found.holders if one.principal == TRAINER)
    assert (trainer.client_id, trainer.kind) == (TRAINER_CLIENT, "ServicePrincipal")
    about_alice = {one.difference for one in found.differing if one.principal == ALICE}
    assert about_alice == {DifferenceKind.ROUNDABOUT}


@pytest.mark.parametrize(
    "kind", ["roleassignments", "roledefinitions", "denyassignments", "diagnosticsettings"]
)
def test_what_may_not_be_read_is_a_gap(azure: FakeResourceManager, kind: str) -> None:
    """It is named, never taken for nothing, and the rest is read."""
    azure.put_account(ACCOUNT)
    azure.assign(ACCOUNT, azure.put_role("Reader", **READER), ALICE)
    azure.forbidden.add(kind)
    found = read(azure, store(identities=[LISTED]))
    assert len(found.gaps) == 1
    assert "may not" in found.gaps[0]
    assert "canary" not in str(found)
    differing = {one.difference for one in found.differing}
    assert DifferenceKind.SHARED_KEY in differing
    absent = DifferenceKind.ABSENT in differing
    assert absent is (kind != "roleassignments")


def test_an_account_that_is_not_there_is_a_gap(azure: FakeResourceManager) -> None:
    """A resource id that names nothing."""
    assert any("there is none" in gap for gap in read(azure, store()).gaps)


def test_throttling_is_an_error_that_says_when(azure: FakeResourceManager) -> None:
    """429 ends the reading: nothing half-read is told."""
    azure.put_account(ACCOUNT)
    azure.faults.append((429, {"Retry-After": "7"}))
    with pytest.raises(EntraError) as caught:
        read(azure, store())
    assert caught.value.kind == "throttled"
    assert caught.value.retry_after_s == 7


def test_a_next_link_to_elsewhere_gets_no_token(azure: FakeResourceManager) -> None:
    """A token is sent to the one site only; what came before counts for nothing."""
    azure.put_account(ACCOUNT)
    reader = azure.put_role("Reader", **READER)
    for number in range(4):
        azure.assign(ACCOUNT, reader, f"dddddddd-0000-0000-0000-00000000000{number}")
    azure.next_site = "https://elsewhere.example"
    found = read(azure, store())
    assert found.holders == []
    assert any("another site" in gap for gap in found.gaps)


def test_who_does_not_lead_asks_nothing(azure: FakeResourceManager) -> None:
    """`require` is called right before each request."""

    def not_leading() -> None:
        raise NotLeaderError("another replica leads")

    async def ask(manager: ResourceManager) -> bytes:
        return await manager.get(ACCOUNT, AUTHORIZATION, not_leading)

    with pytest.raises(NotLeaderError):
        asyncio.run(asking(azure, ask))
    assert azure.asked == []
