"""RuntimeClasses (node.k8s.io/v1) in memory: name, handler, scheduling and overhead of each.

A cluster has a dozen at most.
"""

from typing import TYPE_CHECKING, Final

import msgspec

from core.base.errors import InvalidObjectError
from core.base.json_errors import decode_json
from core.kubernetes.object_meta import NameMeta
from core.kubernetes.quantities import parse_amounts
from core.sandbox.capacity import Toleration
from core.sandbox.decision import RuntimeClass
from kube.client.settings import LiveSettings
from kube.watch.listwatch import Resource
from kube.watch.optional import OptionalWatch

if TYPE_CHECKING:  # It imports aiohttp and kubernetes: not for a folder's sake.
    from kube.client.connection import Connection

GROUP: Final = "node.k8s.io"
KIND: Final = "RuntimeClass"
RUNTIME_CLASSES_PATH: Final = f"/apis/{GROUP}/v1/runtimeclasses"


class _Scheduling(msgspec.Struct, rename="camel"):
    node_selector: dict[str, str] | None = None
    tolerations: list[Toleration] | None = None


class _Overhead(msgspec.Struct, rename="camel"):
    pod_fixed: dict[str, str | int | float] | None = None


class _Envelope(msgspec.Struct):
    metadata: NameMeta
    handler: str
    scheduling: _Scheduling | None = None
    overhead: _Overhead | None = None


_DECODER = msgspec.json.Decoder(_Envelope)


def parse_runtime_class(raw: bytes | msgspec.Raw) -> RuntimeClass:
    """Read a RuntimeClass from its JSON.

    Raises:
        InvalidObjectError: with the field's path and what it must be.
    """
    read = decode_json(_DECODER, raw, KIND)
    for field, value in (("metadata.name", read.metadata.name), ("handler", read.handler)):
        if not value:
            raise InvalidObjectError(KIND, field, "is missing")
    scheduling = read.scheduling or _Scheduling()
    overhead = read.overhead or _Overhead()
    try:
        taken = parse_amounts(overhead.pod_fixed)
    except ValueError as error:
        raise InvalidObjectError(KIND, "overhead.podFixed", str(error)) from error
    return RuntimeClass(
        read.metadata.name,
        read.handler,
        scheduling.node_selector or {},
        tuple(scheduling.tolerations or ()),
        taken,
    )


class WatchedRuntimeClasses(OptionalWatch[RuntimeClass]):
    """Those of a real cluster."""

    def __init__(self, connection: "Connection", settings: LiveSettings) -> None:
        resource = Resource("RuntimeClasses", RUNTIME_CLASSES_PATH, parse_runtime_class)
        super().__init__(connection, settings, resource)

    def named(self, name: str) -> RuntimeClass | None:
        """Return one.

        Raises:
            NotSyncedError: they have not been loaded, or the watch has been down too long.
        """
        self._watch.require()
        return self._watch.objects.get(name)
