"""RuntimeClasses (node.k8s.io/v1) in memory: name, handler, scheduling and overhead of each.

A cluster has a dozen at most.
"""

from typing import Final

import msgspec

from core.capacity import Toleration
from core.decoding import UNREADABLE, unreadable
from core.errors import InvalidObjectError
from core.quantities import amounts
from core.sandbox import RuntimeClass
from kube.connection import Connection
from kube.exceptions import leaving_out
from kube.listwatch import ListWatch, Resource
from kube.settings import LiveSettings

GROUP: Final = "node.k8s.io"
KIND: Final = "RuntimeClass"
RUNTIME_CLASSES_PATH: Final = f"/apis/{GROUP}/v1/runtimeclasses"


class _Meta(msgspec.Struct):
    name: str


class _Scheduling(msgspec.Struct, rename="camel"):
    node_selector: dict[str, str] | None = None
    tolerations: list[Toleration] | None = None


class _Overhead(msgspec.Struct, rename="camel"):
    pod_fixed: dict[str, str | int | float] | None = None


class _Envelope(msgspec.Struct):
    metadata: _Meta
    handler: str
    scheduling: _Scheduling | None = None
    overhead: _Overhead | None = None


_DECODER = msgspec.json.Decoder(_Envelope)


def parse_runtime_class(raw: bytes | msgspec.Raw) -> RuntimeClass:
    """Read a RuntimeClass from its JSON.

    Raises:
        InvalidObjectError: with the field's path and what it must be.
    """
    try:
        read = _DECODER.decode(raw)
    except UNREADABLE as error:
        raise unreadable(KIND, error) from error
    for field, value in (("metadata.name", read.metadata.name), ("handler", read.handler)):
        if not value:
            raise InvalidObjectError(KIND, field, "is missing")
    scheduling = read.scheduling or _Scheduling()
    overhead = read.overhead or _Overhead()
    try:
        taken = amounts(overhead.pod_fixed)
    except ValueError as error:
        raise InvalidObjectError(KIND, "overhead.podFixed", str(error)) from error
    return RuntimeClass(
        read.metadata.name,
        read.handler,
        scheduling.node_selector or {},
        tuple(scheduling.tolerations or ()),
        taken,
    )


class WatchedRuntimeClasses:
    """Those of a real cluster, kept by a watch; one that is broken is left out, loudly."""

    def __init__(self, connection: Connection, settings: LiveSettings) -> None:
        self._watch = ListWatch(
            connection,
            Resource("RuntimeClasses", RUNTIME_CLASSES_PATH, leaving_out(parse_runtime_class)),
            lambda _: None,
            settings,
        )

    @property
    def tried(self) -> bool:
        """Whether they were loaded, or could not be at first."""
        return self._watch.tried

    async def run(self) -> None:
        """Keep them until cancelled."""
        await self._watch.run()

    def named(self, name: str) -> RuntimeClass | None:
        """Give one.

        Raises:
            NotSyncedError: they have not been loaded, or the watch has been down too long.
        """
        self._watch.require()
        return self._watch.objects.get(name)
