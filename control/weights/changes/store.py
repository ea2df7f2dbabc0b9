"""Stores which changes are recorded: a ConfigMap a kind, so that no leader repeats one."""

import base64
import binascii
import zlib
from collections.abc import Mapping
from typing import Any, Final

import msgspec
import structlog

from control.weights.changes.comparison import ObjectRecord
from core.base import names
from core.base.errors import ClusterError
from kube.client.objects import Objects
from kube.leader.lease import Leadership

PREFIX: Final = "sallyport-recorded-"
"""Of their names; the kind in lower case follows."""

FORMAT: Final = 1
"""Version of what is stored. Release N reads N - 1 and N + 1 as well."""

MOST: Final = 12_000
"""Objects of one kind: about 45 bytes each, packed. Of more none is remembered, loudly."""

MOST_BYTES: Final = 4 * 1024 * 1024
"""Of what is stored, unpacked."""

_KEY: Final = "known"

_log = structlog.get_logger(__name__)


class StoredChanges(msgspec.Struct, frozen=True, kw_only=True):
    """What is stored of a kind."""

    format: int = FORMAT
    cluster: str
    objects: dict[str, ObjectRecord] = {}


class ChangeStore:
    """The ConfigMaps of one installation."""

    def __init__(self, objects: Objects, namespace: str, cluster: str) -> None:
        self._objects = objects
        self._namespace = namespace
        self._cluster = cluster
        self._root = f"/api/v1/namespaces/{namespace}/configmaps"

    async def load(self, kind: str) -> dict[str, ObjectRecord] | None:
        """Return what is stored of a kind; None where nothing is, or it is broken.

        Raises:
            ClusterError: kube-apiserver does not answer, or refuses.
        """
        live = await self._objects.get(f"{self._root}/{name_of(kind)}")
        if live is None:
            return None
        try:
            stored = decode_changes(str((live.get("binaryData") or {}).get(_KEY, "")))
        except ValueError as error:
            _log.error("recorded changes cannot be read", name=name_of(kind), why=str(error))
            return None
        if stored.cluster != self._cluster:
            _log.error("recorded changes are another cluster's", name=name_of(kind))
            return None
        return dict(stored.objects)

    async def save(
        self, leadership: Leadership, kind: str, known: Mapping[str, ObjectRecord]
    ) -> None:
        """Store what is recorded of a kind.

        Raises:
            ClusterError: kube-apiserver does not answer, or refuses; or there are too many.
            NotLeaderError: the term is over.
        """
        if len(known) > MOST:
            message = f"{len(known)} objects {kind} are more than are remembered ({MOST})"
            raise ClusterError(f"{message}: each next leader records them again")
        leadership.require()
        stored = StoredChanges(cluster=self._cluster, objects=dict(known))
        await self._objects.apply(f"{self._root}/{name_of(kind)}", self._body(kind, stored))

    def _body(self, kind: str, stored: StoredChanges) -> dict[str, Any]:
        return {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": name_of(kind),
                "namespace": self._namespace,
                "labels": {names.MANAGED_BY_LABEL: "sallyport"},
            },
            "data": {"about": f"Which changes of each {kind} are recorded in the ledger."},
            "binaryData": {_KEY: encode_changes(stored)},
        }


def name_of(kind: str) -> str:
    """Name the ConfigMap of a kind."""
    return f"{PREFIX}{kind.lower()}"


def encode_changes(stored: StoredChanges) -> str:
    """Return what is stored as text. Pure."""
    return base64.b64encode(zlib.compress(msgspec.msgpack.encode(stored), 6)).decode()


def decode_changes(text: str) -> StoredChanges:
    """Read what is stored. Pure.

    Raises:
        ValueError: it is damaged, or of another format.
    """
    unpacker = zlib.decompressobj()
    try:
        content = unpacker.decompress(base64.b64decode(text, validate=True), MOST_BYTES)
        if not unpacker.eof:
            raise ValueError("is cut off, or too large")
        stored = msgspec.msgpack.decode(content, type=StoredChanges)
    except (zlib.error, binascii.Error, msgspec.DecodeError):
        raise ValueError("cannot be read") from None
    if abs(stored.format - FORMAT) > 1:
        message = f"has the format {stored.format}"
        raise ValueError(message)
    return stored
