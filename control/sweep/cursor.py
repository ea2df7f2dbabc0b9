"""Keeps how far a sweep has come in a ConfigMap, so that a new leader goes on from there."""

import base64
import binascii
import datetime as dt
import uuid
import zlib
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from control.sweep.progress import Progress
from core.base import names
from core.base.errors import InvalidObjectError
from core.base.ids import uuid7_time
from core.decision.sweep_document import SweepDocument
from kube.client.objects import Objects

NAME: Final = "sallyport-sweep"

FORMAT: Final = 1
"""Version of what is stored. Release N reads N - 1 and N + 1 as well; fields only come on top."""

MOST_BYTES: Final = 512 * 1024
"""Of what is stored, before it is packed; less is ever written."""

_MOST_COUNT: Final = 2**53
_UUID_VERSION: Final = 7

_WHAT: Final = f"ConfigMap {NAME}"


class Cursor(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of the sweeps of a cluster."""

    format: int = FORMAT
    cluster: str
    last: SweepDocument | None = None
    """The last one that was finished."""
    running: Progress | None = None


def encode_cursor(cursor: Cursor) -> dict[str, Any]:
    """Return the ConfigMap's content: what people may read, and what is read back. Pure."""
    packed = zlib.compress(msgspec.json.encode(cursor), 6)
    return {
        "data": {"about": "How far Sallyport's sweep has come; delete it and one begins anew."}
        | ({"last": cursor.last.id, "finished": cursor.last.finished} if cursor.last else {})
        | ({"running": cursor.running.sweep} if cursor.running else {}),
        "binaryData": {"cursor": base64.b64encode(packed).decode()},
    }


def decode_cursor(body: Mapping[str, Any], cluster: str) -> Cursor:
    """Read a ConfigMap's content. Pure.

    Raises:
        InvalidObjectError: it is damaged, of another format, or another cluster's.
    """
    try:
        packed = base64.b64decode(body["binaryData"]["cursor"], validate=True)
        unpacker = zlib.decompressobj()
        content = unpacker.decompress(packed, MOST_BYTES)
        if not unpacker.eof:
            raise InvalidObjectError(_WHAT, "binaryData[cursor]", "is cut off, or too large")
        cursor = msgspec.json.decode(content, type=Cursor)
    except (KeyError, TypeError, ValueError, binascii.Error, zlib.error, RecursionError):
        raise InvalidObjectError(_WHAT, "binaryData[cursor]", "cannot be read") from None
    if not FORMAT - 1 <= cursor.format <= FORMAT + 1:
        raise InvalidObjectError(_WHAT, "binaryData[cursor]", f"has the format {cursor.format}")
    if cursor.cluster != cluster:
        raise InvalidObjectError(_WHAT, "binaryData[cursor]", "is that of another cluster")
    if cursor.running is not None:
        _demand_id(cursor.running.sweep, "running.sweep")
    if cursor.last is not None:
        _demand_document(cursor.last)
    return cursor


def _demand_document(last: SweepDocument) -> None:
    _demand_id(last.id, "last.id")
    _demand_time(last.started, "last.started")
    _demand_time(last.finished, "last.finished")
    counts = (
        last.objects,
        last.namespaces,
        last.sandbox_missing,
        last.interruptions,
        *last.verdicts.values(),
    )
    if not all(0 <= count < _MOST_COUNT for count in counts):
        raise InvalidObjectError(_WHAT, "last", "has a count that cannot be")


def _demand_id(text: str, field: str) -> None:
    """Pass a UUIDv7 as `core.base.ids` makes it, of a time that can be written."""
    try:
        made = uuid.UUID(text)
    except ValueError:
        made = uuid.UUID(int=0)
    if made.version != _UUID_VERSION or str(made) != text:
        raise InvalidObjectError(_WHAT, field, "is no UUID of version 7")
    _demand_time(uuid7_time(text), field)


def _demand_time(text: str, field: str) -> None:
    try:
        readable = dt.datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        readable = False
    if not readable:
        raise InvalidObjectError(_WHAT, field, "is not a time of RFC 3339")


class CursorStore:
    """The ConfigMap of one installation."""

    def __init__(self, objects: Objects, namespace: str, cluster: str) -> None:
        self._objects = objects
        self._collection = f"/api/v1/namespaces/{namespace}/configmaps"
        self._namespace = namespace
        self.cluster = cluster
        self._version: str | None = None

    async def load(self) -> tuple[Cursor, str]:
        """Return what is stored, and what is wrong with it: then the cursor knows of no sweep.

        Raises:
            ClusterError: kube-apiserver does not answer, or refuses.
        """
        body = await self._objects.get(f"{self._collection}/{NAME}")
        self._version = None
        if body is None:
            return Cursor(cluster=self.cluster), ""
        self._version = body["metadata"]["resourceVersion"]
        try:
            return decode_cursor(body, self.cluster), ""
        except InvalidObjectError as error:
            return Cursor(cluster=self.cluster), str(error)

    async def save(self, cursor: Cursor) -> None:
        """Store it over what was loaded or stored last.

        Raises:
            ClusterError: with the status 409, somebody else stored one meanwhile.
        """
        metadata: dict[str, Any] = {
            "name": NAME,
            "namespace": self._namespace,
            "labels": {names.MANAGED_BY_LABEL: "sallyport"},
        }
        body = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": metadata,
            **encode_cursor(cursor),
        }
        if self._version is None:
            stored = await self._objects.create(self._collection, body)
        else:
            metadata["resourceVersion"] = self._version
            stored = await self._objects.replace(f"{self._collection}/{NAME}", body)
        self._version = stored["metadata"]["resourceVersion"]
