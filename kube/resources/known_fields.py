"""What a cluster says of fields beside the table of the release, in two ConfigMaps.

One has rows that operators ship without a new gate, the other what `control` has learnt that
kube-apiserver fills in by itself. Nothing waits for them, and nothing fails because of them:
without them more is warned of. What is broken is left out, loudly.
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec
import structlog

from core.base.errors import InvalidObjectError
from core.base.json_errors import decode_json
from core.kubernetes.field_rows import (
    NOTHING_KNOWN,
    FieldRows,
    KnownFields,
    check_rows,
    decode_filled,
    decode_rows,
)
from kube.client.settings import LiveSettings
from kube.watch.listwatch import ListWatch, Resource

if TYPE_CHECKING:  # It imports aiohttp and kubernetes: not for a folder's sake.
    from kube.client.connection import Connection

ADDED: Final = "sallyport-fields"
FILLED: Final = "sallyport-filled-fields"
NAMES: Final = frozenset({ADDED, FILLED})
KIND: Final = "ConfigMap"

ADDED_KEY: Final = "table.json"
FILLED_KEY: Final = "filled.json"

_Known = TypeVar("_Known")

_log = structlog.get_logger(__name__)


class _ConfigMap(msgspec.Struct):
    data: dict[str, str] | None = None


_DECODER: Final = msgspec.json.Decoder(_ConfigMap)


def parse_added(raw: bytes | msgspec.Raw) -> FieldRows:
    """Read the rows of the first ConfigMap.

    Raises:
        InvalidObjectError: it is no ConfigMap, has no table, or its table is broken.
    """
    what = f"{KIND} {ADDED}: data[{ADDED_KEY}]"
    data = _data(raw, ADDED)
    if ADDED_KEY not in data:
        raise InvalidObjectError(what, "", "is missing: write the table under this key")
    rows = decode_rows(data[ADDED_KEY], what)
    check_rows(rows, what)
    return rows


def parse_filled(raw: bytes | msgspec.Raw) -> frozenset[tuple[str, str]]:
    """Read paths and values of the second; none where it has no list.

    Raises:
        InvalidObjectError: it is no ConfigMap, or its list is broken.
    """
    what = f"{KIND} {FILLED}: data[{FILLED_KEY}]"
    return decode_filled(_data(raw, FILLED).get(FILLED_KEY, "[]"), what)


def _data(raw: bytes | msgspec.Raw, name: str) -> dict[str, str]:
    return decode_json(_DECODER, raw, f"{KIND} {name}").data or {}


def _unless_broken(
    parse: Callable[[bytes | msgspec.Raw], _Known],
) -> Callable[[bytes | msgspec.Raw], _Known | None]:
    """Return a reader that leaves out what is broken."""

    def read(raw: bytes | msgspec.Raw) -> _Known | None:
        try:
            return parse(raw)
        except InvalidObjectError as error:
            fix = "write it again: docs/operate/fields.md"
            _log.error("rows of fields left out: more is warned of", problem=str(error), fix=fix)
            return None

    return read


class WatchedFields:
    """Those of a real cluster, kept by a watch of each of the two objects."""

    def __init__(self, connection: "Connection", settings: LiveSettings) -> None:
        self._known = NOTHING_KNOWN
        path = f"/api/v1/namespaces/{settings.namespace}/configmaps"
        added = Resource(
            f"{KIND} {ADDED}", path, _unless_broken(parse_added), f"metadata.name={ADDED}"
        )
        filled = Resource(
            f"{KIND} {FILLED}", path, _unless_broken(parse_filled), f"metadata.name={FILLED}"
        )
        self._added = ListWatch(connection, added, self._take_added, settings)
        self._filled = ListWatch(connection, filled, self._take_filled, settings)
        self._wanted = bool(settings.namespace)

    async def run(self) -> None:
        """Keep both until cancelled; nothing where nobody said in which namespace they are."""
        if self._wanted:
            await asyncio.gather(self._added.run(), self._filled.run())

    def current(self) -> KnownFields:
        """Return what is known now: the same object as long as it does not change."""
        return self._known

    def _take_added(self, objects: Mapping[str, FieldRows]) -> None:
        added = next(iter(objects.values()), FieldRows())
        self._known = KnownFields(added, self._known.filled)

    def _take_filled(self, objects: Mapping[str, frozenset[tuple[str, str]]]) -> None:
        filled = next(iter(objects.values()), frozenset[tuple[str, str]]())
        self._known = KnownFields(self._known.added, filled)
