"""WeightStores and AccessGrants in memory, with the openings that `control` makes of them.

100 stores and 2,000 grants take about 4 MB. Approvals of grants and of changes of stores are those
of `kube.approvals.watch`.
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

import msgspec
import structlog

from core.base import names
from core.base.errors import ClusterError, InvalidObjectError, NotSyncedError
from core.base.json_errors import DECODE_ERRORS
from core.weights.access_grants import KIND as GRANT
from core.weights.access_grants import AccessGrant, parse_grant
from core.weights.access_paths import WeightStoreSet
from core.weights.egress_openings import WeightOpening
from core.weights.stores import WeightStore, parse_store
from kube.client.objects import Objects
from kube.client.settings import LiveSettings
from kube.watch.listwatch import ListWatch, Resource
from kube.watch.statuses import ApprovedKindWatch
from kube.weights.openings import WatchedWeightOpenings

if TYPE_CHECKING:  # It imports aiohttp and kubernetes: not for a folder's sake.
    from kube.client.connection import Connection

STORES_PATH: Final = f"/apis/{names.API_VERSION}/{names.WEIGHT_STORES_RESOURCE}"
GRANTS_PATH: Final = f"/apis/{names.API_VERSION}/{names.ACCESS_GRANTS_RESOURCE}"

_ROOT: Final = f"/apis/{names.API_VERSION}/namespaces"
_NONE: Final[tuple[AccessGrant, ...]] = ()
_NO_STORES: Final = WeightStoreSet()

_log = structlog.get_logger(__name__)


class BrokenStore(msgspec.Struct, frozen=True):
    """A WeightStore that cannot be read: what may reach it is not known, so it is not left out."""

    name: str


class _Named(msgspec.Struct, frozen=True):
    name: str = ""


class _Head(msgspec.Struct):
    metadata: _Named = _Named()


def grants_path(namespace: str) -> str:
    """Return the path of a namespace's grants."""
    return f"{_ROOT}/{namespace}/{names.ACCESS_GRANTS_RESOURCE}"


def parse_store_or_broken(raw: bytes | msgspec.Raw) -> WeightStore | BrokenStore:
    """Read a WeightStore, or say that it cannot be read."""
    try:
        return parse_store(raw)
    except InvalidObjectError as error:
        _log.error(
            "WeightStore cannot be read: what might reach weights is refused",
            problem=str(error),
            fix="correct it, or install the release that wrote it",
        )
    try:
        return BrokenStore(msgspec.json.decode(raw, type=_Head).metadata.name)
    except DECODE_ERRORS:
        return BrokenStore("")


class WeightGrants:
    """The stores of a cluster, and the grants of its namespaces.

    By itself it is what a folder of YAML holds.
    """

    def __init__(
        self, stores: Iterable[WeightStore] = (), grants: Iterable[AccessGrant] = ()
    ) -> None:
        self._stores = WeightStoreSet(stores)
        self._grants: dict[str, tuple[AccessGrant, ...]] = {}
        self.take_grants(grants)

    def take_stores(self, stores: Iterable[WeightStore | BrokenStore]) -> None:
        """Take all stores as they are now."""
        found = list(stores)
        self._stores = WeightStoreSet(
            (one for one in found if isinstance(one, WeightStore)),
            (one.name for one in found if isinstance(one, BrokenStore)),
        )

    def take_grants(self, grants: Iterable[AccessGrant]) -> None:
        """Take all grants as they are now."""
        found = defaultdict(list)
        for each in grants:
            found[each.meta.namespace].append(each)
        self._grants = {
            namespace: tuple(sorted(some, key=lambda one: one.meta.name))
            for namespace, some in found.items()
        }

    def stores(self) -> WeightStoreSet:
        """Return all stores."""
        return self._stores

    def everywhere(self) -> list[AccessGrant]:
        """Return all grants, by namespace and name."""
        return [each for _, some in sorted(self._grants.items()) for each in some]

    def grants(self, namespace: str) -> tuple[AccessGrant, ...]:
        """Return the grants of a namespace, by name, whether in force or not."""
        return self._grants.get(namespace, _NONE)

    def openings(self, namespace: str) -> tuple[WeightOpening, ...]:
        """Return none: a folder has no controller that would open anything."""
        del namespace
        return ()

    async def read_grant(self, namespace: str, name: str) -> AccessGrant | None:
        """Return one grant."""
        return next((one for one in self.grants(namespace) if one.meta.name == name), None)


class WatchedWeights:
    """Those of a real cluster, kept by watches.

    A cluster without the definitions has no store. Where stores may be there and are not known,
    every review that could be of a Pod that reaches one fails; without grants, nothing is granted.
    """

    def __init__(self, connection: "Connection", settings: LiveSettings) -> None:
        self._objects = Objects(connection, settings.review_timeout_s)
        self._known = WeightGrants()
        self._openings = WatchedWeightOpenings(connection, settings)
        self.openings = self._openings.of
        self._stores: ListWatch[WeightStore | BrokenStore] = ListWatch(
            connection,
            Resource("WeightStores", STORES_PATH, parse_store_or_broken),
            self._take,
            settings,
        )
        self.grant_objects = ApprovedKindWatch(
            connection,
            settings,
            Resource("AccessGrants", GRANTS_PATH, parse_grant),
            self._known.take_grants,
        )

    @property
    def problem(self) -> str:
        """Why it is not known which stores there are, for a person; empty where it is."""
        return "" if self._stores.unserved else self._stores.problem

    @property
    def tried(self) -> bool:
        """Whether they were loaded, or could not be at first."""
        return self._stores.tried and self.grant_objects.tried and self._openings.tried

    async def run(self) -> None:
        """Keep all three until cancelled."""
        await asyncio.gather(self._stores.run(), self.grant_objects.run(), self._openings.run())

    def stores(self) -> WeightStoreSet:
        """Return all stores.

        Raises:
            NotSyncedError: they have not been loaded, or the watch has been down too long.
        """
        if self._stores.unserved:
            return _NO_STORES
        self._stores.require()
        return self._known.stores()

    def everywhere(self) -> list[AccessGrant]:
        """Return all grants.

        Raises:
            NotSyncedError: as `grants`.
        """
        if self.grant_objects.unserved:
            return []
        self.grant_objects.require()
        return self._known.everywhere()

    def grants(self, namespace: str) -> tuple[AccessGrant, ...]:
        """Return the grants of a namespace.

        Raises:
            NotSyncedError: they have not been loaded, or the watch has been down too long.
        """
        if self.grant_objects.unserved:
            return _NONE
        self.grant_objects.require()
        return self._known.grants(namespace)

    async def read_grant(self, namespace: str, name: str) -> AccessGrant | None:
        """Return one grant as it is now: one GET.

        Raises:
            NotSyncedError: the cluster did not say, or in a way that cannot be read.
        """
        try:
            found = await self._objects.get(f"{grants_path(namespace)}/{name}")
            return parse_grant(msgspec.json.encode(found)) if found else None
        except (ClusterError, InvalidObjectError) as error:
            raise NotSyncedError(f"{GRANT} {namespace}/{name}: {error}") from error

    def _take(self, found: Mapping[str, WeightStore | BrokenStore]) -> None:
        self._known.take_stores(found.values())
