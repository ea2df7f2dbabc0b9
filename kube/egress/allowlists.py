"""EgressAllowlists and EgressDestinations, read as they are now when one of them is written.

The gate keeps none of them in memory: they are written rarely, and there may be ten thousand. The
controller watches them (`kube.egress.watch`).
"""

import asyncio
from typing import TYPE_CHECKING, Final

import msgspec
import structlog

from core.base import names
from core.base.errors import ClusterError, InvalidObjectError, NotSyncedError
from core.egress.allowlists import (
    KIND,
    SET_KIND,
    EgressAllowlist,
    EgressDestinations,
    parse_allowlist,
    parse_destinations,
)
from kube.client.objects import Objects, list_objects
from kube.client.settings import LiveSettings

if TYPE_CHECKING:  # It imports aiohttp and kubernetes: not for a folder's sake.
    from kube.client.connection import Connection

SETS_PATH: Final = f"/apis/{names.API_VERSION}/{names.DESTINATIONS_RESOURCE}"

_log = structlog.get_logger(__name__)


def allowlists_path(namespace: str) -> str:
    """Return the path of a namespace's allowlists."""
    return f"/apis/{names.API_VERSION}/namespaces/{namespace}/{names.ALLOWLISTS_RESOURCE}"


class IntentLookup:
    """Those of a real cluster: one LIST of a namespace, one GET of one."""

    def __init__(self, connection: "Connection", settings: LiveSettings) -> None:
        self._objects = Objects(connection, settings.review_timeout_s)

    async def in_namespace(self, namespace: str) -> tuple[EgressAllowlist, ...]:
        """Return the allowlists of a namespace, by name; one that is broken is left out, loudly.

        Raises:
            NotSyncedError: the cluster did not say.
        """
        found: list[EgressAllowlist] = []
        try:
            async for raw in list_objects(self._objects, allowlists_path(namespace)):
                await asyncio.sleep(0)  # A large one takes 50 ms: other reviews have their turn.
                try:
                    found.append(parse_allowlist(raw, namespace))
                except InvalidObjectError as error:
                    _log.error("left out", problem=str(error))
        except ClusterError as error:
            raise NotSyncedError(f"the {KIND}s of {namespace}: {error}") from error
        return tuple(sorted(found, key=lambda one: one.meta.name))

    async def allowlist(self, namespace: str, name: str) -> EgressAllowlist | None:
        """Return one allowlist.

        Raises:
            NotSyncedError: the cluster did not say, or in a way that cannot be read.
        """
        try:
            found = await self._objects.get(f"{allowlists_path(namespace)}/{name}")
            return parse_allowlist(msgspec.json.encode(found)) if found else None
        except (ClusterError, InvalidObjectError) as error:
            raise NotSyncedError(f"{KIND} {namespace}/{name}: {error}") from error

    async def destinations(self, name: str) -> EgressDestinations | None:
        """Return one set.

        Raises:
            NotSyncedError: as `allowlist`.
        """
        try:
            found = await self._objects.get(f"{SETS_PATH}/{name}")
            return parse_destinations(msgspec.json.encode(found)) if found else None
        except (ClusterError, InvalidObjectError) as error:
            raise NotSyncedError(f"{SET_KIND} {name}: {error}") from error
