"""Which service accounts may connect to model weights, as `control` says in one ConfigMap."""

from collections.abc import Mapping
from typing import Final

import msgspec

from core.base.json_errors import DECODE_ERRORS, decode_error
from core.weights.egress_openings import WeightOpening, decode_openings
from kube.client.connection import Connection
from kube.client.settings import LiveSettings
from kube.watch.listwatch import ListWatch, Resource

NAME: Final = "sallyport-weight-openings"
KIND: Final = "ConfigMap"

_NONE: Final[tuple[WeightOpening, ...]] = ()

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
    try:
        written = _DECODER.decode(raw).data or {}
    except DECODE_ERRORS as error:
        raise decode_error(f"{KIND} {NAME}", error) from error
    return {
        namespace: decode_openings(text, f"{KIND} {NAME}: data[{namespace}]")
        for namespace, text in written.items()
    }


class WatchedWeightOpenings:
    """Those of a real cluster, kept by a watch of the one object that holds them."""

    def __init__(self, connection: Connection, settings: LiveSettings) -> None:
        self._known: _Openings = {}
        path = f"/api/v1/namespaces/{settings.namespace}/configmaps"
        self._watch: ListWatch[_Openings] = ListWatch(
            connection,
            Resource(f"{KIND} {NAME}", path, parse_weight_openings, f"metadata.name={NAME}"),
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
        """Give those of a namespace.

        Raises:
            NotSyncedError: they have not been loaded, or the watch has been down too long.
        """
        if not self._wanted:
            return _NONE
        self._watch.require()
        return self._known.get(namespace, _NONE)

    def _take(self, objects: Mapping[str, _Openings]) -> None:
        self._known = next(iter(objects.values()), {})
