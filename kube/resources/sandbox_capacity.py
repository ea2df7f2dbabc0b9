"""The capacity of each RuntimeClass's nodes, as `control` writes it into one ConfigMap.

It is only ever a reason to warn: nothing waits for it, and nothing fails because of it. At most
two summaries, of about 40 KB together.
"""

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

import msgspec
import structlog

from core.base.errors import InvalidObjectError
from core.base.json_errors import decode_json
from core.sandbox.capacity import Capacity, decode_capacity
from kube.client.settings import LiveSettings
from kube.watch.listwatch import ListWatch, Resource

if TYPE_CHECKING:  # It imports aiohttp and kubernetes: not for a folder's sake.
    from kube.client.connection import Connection

NAME: Final = "sallyport-sandbox-capacity"
KIND: Final = "ConfigMap"

OLDEST_S: Final = 900.0
"""An older summary is not believed: `control` writes one every five minutes at least."""

_log = structlog.get_logger(__name__)


class _ConfigMap(msgspec.Struct):
    data: dict[str, str] | None = None


_DECODER: Final = msgspec.json.Decoder(_ConfigMap)


def parse_capacities(raw: bytes | msgspec.Raw) -> Mapping[str, Capacity]:
    """Read the summaries, by RuntimeClass; one that is broken is left out, loudly.

    Raises:
        InvalidObjectError: it is no ConfigMap.
    """
    written = decode_json(_DECODER, raw, f"{KIND} {NAME}").data or {}
    found = {}
    for name, text in written.items():
        try:
            found[name] = decode_capacity(text, f"{KIND} {NAME}: data[{name}]")
        except InvalidObjectError as error:
            _log.error(
                "summary of a sandbox's nodes left out: nobody is warned of a full pool",
                problem=str(error),
                fix="control writes it again; see its loop sandbox-capacity",
            )
    return found


class WatchedCapacities:
    """Those of a real cluster, kept by a watch of the one object that holds them."""

    def __init__(
        self,
        connection: "Connection",
        settings: LiveSettings,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._clock = clock
        self._known: Mapping[str, Capacity] = {}
        path = f"/api/v1/namespaces/{settings.namespace}/configmaps"
        self._watch = ListWatch(
            connection,
            Resource(f"{KIND} {NAME}", path, parse_capacities, f"metadata.name={NAME}"),
            self._take,
            settings,
        )
        self._wanted = bool(settings.namespace)

    async def run(self) -> None:
        """Keep them until cancelled; nothing where nobody said in which namespace they are."""
        if self._wanted:
            await self._watch.run()

    def of(self, runtime_class: str) -> Capacity | None:
        """Return the summary of a RuntimeClass; None where there is none that can be believed."""
        found = self._known.get(runtime_class)
        if found is None or abs(self._clock() - found.as_of) > OLDEST_S:
            return None
        return found

    def _take(self, objects: Mapping[str, Mapping[str, Capacity]]) -> None:
        self._known = next(iter(objects.values()), {})
