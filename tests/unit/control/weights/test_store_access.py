"""The loop tells who can open a store, and ties roles to grants where it is to."""

import asyncio
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from control.weights.access.live_grants import LiveGrants
from control.weights.access.loop import AccessMetrics, StoreAccesses
from control.weights.access.reader import AccessReader
from core.base.errors import EntraError
from core.cluster import AccountSignIn
from core.people.two_person import Approvable, Approved, Consent, NotApproved
from core.weights.access_grants import AccessGrant
from core.weights.access_paths import WeightStoreSet
from core.weights.documents.object_change import ObjectChange
from core.weights.documents.store_access import DifferenceKind, StoreAccess
from core.weights.stores import WeightStore
from identity.clients.resource_manager import ResourceManager
from kube.leader.lease import Leadership
from tests.harness.fakes.resource_manager import FakeResourceManager
from tests.unit.control.weights.azure_access import asking, azure_in
from tests.unit.identity.azure_roles.roles import (
    ACCOUNT,
    ALICE,
    READER,
    TRAINER,
    TRAINER_CLIENT,
    store,
)
from tests.unit.identity.azure_roles.test_just_in_time import grant

LISTED = {"clientId": TRAINER_CLIENT, "objectId": TRAINER, "rights": ["read"]}


class _Leading(Leadership):
    """Leads for as long as a test runs."""

    def __init__(self) -> None:
        """Need no Lease."""

    def require(self) -> None:
        """Lead."""


@dataclass
class Scene:
    """A cluster's grants, and what the loop said."""

    azure: FakeResourceManager
    grants_there: list[AccessGrant] = field(default_factory=list)
    approved: bool = True
    changes: list[ObjectChange] = field(default_factory=list)
    told: list[StoreAccess] = field(default_factory=list)
    registry: CollectorRegistry = field(default_factory=CollectorRegistry)
    stores: WeightStoreSet = field(
        default_factory=lambda: WeightStoreSet([store(identities=[LISTED])])
    )
    ties: bool = True
    shown: dict[str, StoreAccess] = field(default_factory=dict)

    def grants(self) -> Sequence[AccessGrant]:
        """Return all grants."""
        return self.grants_there

    def consents(self, _: str, __: str) -> tuple[Consent, ...]:
        """Return no approvals: `approve` is asked."""
        return ()

    def sign_in(self, _: str, account: str) -> AccountSignIn | None:
        """Return the trainer's identity for its service account."""
        return AccountSignIn(TRAINER_CLIENT) if account == "trainer" else None

    async def approve(
        self, _: Approvable, __: Sequence[Consent], ___: str, ____: float
    ) -> Approved | NotApproved:
        """Say what the scene says."""
        return Approved(("a", "b")) if self.approved else NotApproved(("nobody",))

    async def tell(self, _: Leadership, __: WeightStore, access: StoreAccess) -> None:
        """Keep what is told."""
        self.told.append(access)

    async def show(self, _: Leadership, known: Mapping[str, StoreAccess]) -> None:
        """Keep what is shown."""
        self.shown = dict(known)

    def forget(self) -> None:
        """Keep nothing."""

    def run(self, times: int = 1) -> None:
        """Run the loop."""
        metrics = AccessMetrics(CollectorRegistry())

        async def running(manager: ResourceManager) -> None:
            loop = StoreAccesses(
                manager,
                AccessReader(manager, time.time),
                LiveGrants(self, self.approve, lambda: 1_795_000_000.0),
                lambda: self.stores,
                lambda: "c",
                self.changes.append,
                self,
                metrics,
                60.0,
                self.ties,
            )
            for _ in range(times):
                await loop.run(_Leading())

        asyncio.run(asking(self.azure, running))

    def principals(self) -> list[str]:
        """Return to whom roles are assigned."""
        return sorted(one["properties"]["principalId"] for one in self.azure.assignments())


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    """An account, and nobody who can open it."""
    with azure_in(tmp_path) as azure:
        azure.put_account(ACCOUNT, allowSharedKeyAccess=False)
        yield Scene(azure)


def test_a_role_lives_as_long_as_its_grant(scene: Scene) -> None:
    """Made when the grant lives, once; removed when it is over."""
    scene.grants_there = [grant()]
    scene.run(2)
    assert scene.principals() == [ALICE]
    assert scene.azure.count("PUT") == 1
    scene.grants_there = []
    scene.run()
    assert scene.principals() == []


def test_a_grant_of_a_service_account_gives_the_role_to_its_identity(scene: Scene) -> None:
    """The Pods read as their identity: the person behind them is given nothing."""
    scene.grants_there = [grant(serviceAccounts=["trainer", "unknown"])]
    scene.run()
    assert scene.principals() == [TRAINER]


def test_a_grant_that_is_not_approved_gives_nothing(scene: Scene) -> None:
    """And one whose approval ends takes its role along."""
    scene.grants_there, scene.approved = [grant()], False
    scene.run()
    assert scene.principals() == []
    scene.approved = True
    scene.run()
    scene.approved = False
    scene.run()
    assert scene.principals() == []


def test_roles_of_others_stay(scene: Scene) -> None:
    """What somebody assigned by hand is told, and never taken away."""
    scene.azure.assign(ACCOUNT, scene.azure.put_role("Reader", **READER), ALICE)
    scene.run()
    assert scene.principals() == [ALICE]
    differences = {one.difference for one in scene.told[0].differing if one.principal == ALICE}
    assert differences == {DifferenceKind.UNLISTED, DifferenceKind.UNGRANTED}


def test_nothing_is_written_unless_asked_for(scene: Scene) -> None:
    """Without the setting, roles are only read."""
    scene.ties, scene.grants_there = False, [grant()]
    scene.run()
    assert scene.azure.count("PUT") == scene.azure.count("DELETE") == 0


def test_what_changes_is_recorded_once(scene: Scene) -> None:
    """The ledger gets a document when something differs from before, and no other."""
    scene.run(3)
    assert len(scene.changes) == 1
    assert scene.changes[0].kind == "StoreAccess"
    assert scene.changes[0].spec["resource"] == ACCOUNT.lower()
    assert scene.shown["big"].resource == ACCOUNT.lower()


def test_one_store_that_fails_keeps_no_other_from_being_read(scene: Scene) -> None:
    """The failure is the loop's all the same."""
    other = ACCOUNT.replace("weights", "second")
    second = store(resourceId=other, account="second")
    scene.stores = WeightStoreSet([store(), second])
    scene.ties = False
    scene.azure.put_account(other)
    scene.azure.faults.append((503, {}))
    with pytest.raises(EntraError):
        scene.run()
    assert [one.resource for one in scene.told] == [other.lower()]
