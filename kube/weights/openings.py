"""The openings that `control` makes of AccessGrants: which service accounts may connect to weights.

They stand in one ConfigMap, which a watch keeps in memory.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import msgspec

from core.base.json_errors import decode_json
from core.weights.egress_openings import WeightOpening, decode_openings
from kube.client.settings import LiveSettings
from kube.watch.listwatch import ListWatch, Resource

if TYPE_CHECKING:  # It imports aiohttp and kubernetes: not for a folder's sake.
    from kube.client.connection import Connection

OPENINGS_NAME: Final = "sallyport-weight-openings"
OPENINGS_KIND: Final = "ConfigMap"

_NO_OPENINGS: Final[tuple[WeightOpening, ...]] = ()

_Openings = Mapping[str, tuple[WeightOpening, ...]]
"""By namespace."""


class _ConfigMap(msgspec.Struct):
    data: dict[str, str] | None = None


_DECODER: Final = msgspec.json.Decoder(_ConfigMap)


def parse_weight_openings(raw: bytes | msgspec.Raw) -> _Openings:
    """Read the openings of all namespaces.

    Raises:
        InvalidObjectError: what stands there cannot be read.
    """
    written = decode_json(_DECODER, raw, f"{OPENINGS_KIND} {OPENINGS_NAME}").data or {}
    return {
        namespace: decode_openings(text, f"{OPENINGS_KIND} {OPENINGS_NAME}: data[{namespace}]")
        for namespace, text in written.items()
    }


class WatchedWeightOpenings:
    """Those of a real cluster, kept by a watch of the one object that holds them."""

    def __init__(self, connection: "Connection", settings: LiveSettings) -> None:
        self._known: _Openings = {}
        path = f"/api/v1/namespaces/{settings.namespace}/configmaps"
        self._watch: ListWatch[_Openings] = ListWatch(
            connection,
            Resource(
                f"{OPENINGS_KIND} {OPENINGS_NAME}",
                path,
                parse_weight_openings,
                f"metadata.name={OPENINGS_NAME}",
            ),
            self._take,
            settings,
        )
        self._wanted = bool(settings.namespace)

    @property
    def tried(self) -> bool:
        """Whether they were loaded, or could not be at first."""
        return not self._wanted or self._watch.tried

    async def run(self) -> None:
        """Keep them until cancelled; nothing where nobody said in which namespace they are."""
        if self._wanted:
            await self._watch.run()

    def of(self, namespace: str) -> tuple[WeightOpening, ...]:
        """Return those of a namespace.

        Raises:
            NotSyncedError: they have not been loaded, or the watch has been down too long.
        """
        if not self._wanted:
            return _NO_OPENINGS
        self._watch.require()
        return self._known.get(namespace, _NO_OPENINGS)

    def _take(self, objects: Mapping[str, _Openings]) -> None:
        self._known = next(iter(objects.values()), {})
