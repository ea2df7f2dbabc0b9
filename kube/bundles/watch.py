"""Policy bundles that are published in ConfigMaps of Sallyport's namespace: read, and announced.

What holds them is in `core.policy_bundles`. The head is watched; a part is fetched where its bundle
is new, which is a few hundred KB once.
"""

import base64
import binascii
import hashlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from typing import Final

import msgspec

from core.base.errors import ClusterError, InvalidObjectError
from core.base.json_errors import DECODE_ERRORS
from core.policy_bundles import (
    GATES_NAME,
    HEAD_KEY,
    HEAD_NAME,
    MOST_PARTS,
    PART_BYTES,
    PART_KEY,
    SLOTS,
    BundleHead,
    GateAnnouncement,
    PublishedBundle,
    decode_head,
    part_name,
)
from kube.client.connection import Connection
from kube.client.settings import LiveSettings
from kube.watch.listwatch import ListWatch, Resource

KIND: Final = "ConfigMap"

_LACKS: Final = (
    f"its Role (sallyport-gate, of control sallyport-control) must allow list and watch of the "
    f"ConfigMap {HEAD_NAME}, get of {part_name(0, 0)} … {part_name(SLOTS - 1, MOST_PARTS - 1)} and "
    f"patch of {GATES_NAME}: bring the Role of this release with 'helm upgrade'"
)


class _ConfigMap(msgspec.Struct):
    data: dict[str, str] | None = None
    binary_data: dict[str, str] | None = msgspec.field(default=None, name="binaryData")


_DECODER: Final = msgspec.json.Decoder(_ConfigMap)

_Read = BundleHead | InvalidObjectError


def parse_head(raw: bytes | msgspec.Raw) -> _Read:
    """Read the ConfigMap of the head; give what is wrong with it where it cannot be read."""
    try:
        data = _DECODER.decode(raw).data or {}
        return decode_head(data.get(HEAD_KEY, "{}"))
    except DECODE_ERRORS:
        return InvalidObjectError(f"{KIND} {HEAD_NAME}", "data", "cannot be read")
    except InvalidObjectError as error:
        return error


class PublishedBundles:
    """Those of a cluster, as a gate or control sees them; run `run` as a task."""

    def __init__(
        self, connection: Connection, settings: LiveSettings, changed: Callable[[], None]
    ) -> None:
        """Call `changed` when the head has changed, and once it is known."""
        self._connection = connection
        self._timeout_s = settings.request_timeout_s
        self._path = f"/api/v1/namespaces/{settings.namespace}/configmaps"
        self._changed = changed
        self._head: BundleHead | None = None
        self._problem = ""
        resource: Resource[_Read] = Resource(
            f"{KIND} {HEAD_NAME}", self._path, parse_head, f"metadata.name={HEAD_NAME}"
        )
        self._watch = ListWatch(connection, resource, self._take, settings)

    @property
    def head(self) -> BundleHead | None:
        """The last head that could be read; None before the first answer of the cluster.

        Where none is published it says that each gate's own bundle is active.
        """
        return self._head

    @property
    def problem(self) -> str:
        """Why `head` is not known, or not as it is written, for a person; empty where it is."""
        if self._problem:
            return self._problem
        problem = self._watch.problem
        return f"{problem}; {_LACKS}" if problem and self._watch.forbidden else problem

    async def run(self) -> None:
        """Keep the head until cancelled."""
        await self._watch.run()

    async def fetch(self, stored: PublishedBundle) -> bytes:
        """Return the file of a published bundle.

        Raises:
            ClusterError: kube-apiserver does not answer or refuses, or a part is not yet, or no
                more, that of this bundle.
        """
        parts = [await self._part(name) for name in stored.names()]
        packed = b"".join(parts)
        if hashlib.sha256(packed).hexdigest() != stored.digest:
            names = f"{stored.names()[0]} …" if stored.parts > 1 else stored.names()[0]
            raise ClusterError(f"{KIND} {names}: does not hold the bundle {stored.revision}")
        return packed

    async def announce(self, name: str, announcement: GateAnnouncement) -> None:
        """Write what the process called `name` has loaded.

        Raises:
            ClusterError: kube-apiserver does not answer or refuses; with the status 404, control
                has not made the ConfigMap yet.
        """
        text = msgspec.json.encode(announcement).decode()
        await self._merge({name: text})

    async def leave(self, name: str) -> None:
        """Take back what was announced.

        Raises:
            ClusterError: as `announce`.
        """
        await self._merge({name: None})

    async def _merge(self, data: Mapping[str, str | None]) -> None:
        with _naming_rights():
            await self._connection.send(
                "PATCH",
                f"{self._path}/{GATES_NAME}",
                self._timeout_s,
                body={"data": data},
                content_type="application/merge-patch+json",
            )

    async def _part(self, name: str) -> bytes:
        with _naming_rights():
            raw = await self._connection.get(f"{self._path}/{name}", self._timeout_s, {})
        return read_part(raw, name)

    def _take(self, objects: Mapping[str, _Read]) -> None:
        found = next(iter(objects.values()), BundleHead())
        if isinstance(found, BundleHead):
            self._head, self._problem = found, ""
        else:
            self._problem = str(found)
        self._changed()


@contextmanager
def _naming_rights() -> Iterator[None]:
    """Say which rights are needed, where kube-apiserver refuses."""
    try:
        yield
    except ClusterError as error:
        if error.status == HTTPStatus.FORBIDDEN:
            raise ClusterError(f"{error}; {_LACKS}", error.status) from error
        raise


def read_part(raw: bytes, name: str) -> bytes:
    """Return what the ConfigMap of a part holds.

    Raises:
        ClusterError: it holds none.
    """
    try:
        held = (_DECODER.decode(raw).binary_data or {})[PART_KEY]
        return base64.b64decode(held, validate=True)
    except (*DECODE_ERRORS, KeyError, binascii.Error):
        raise ClusterError(f"{KIND} {name}: holds no part of a bundle") from None


def split_bundle(packed: bytes) -> list[bytes]:
    """Cut a bundle into what one ConfigMap each can hold.

    Raises:
        InvalidObjectError: it is too large to be published.
    """
    parts = [packed[at : at + PART_BYTES] for at in range(0, len(packed), PART_BYTES)]
    if len(parts) > MOST_PARTS:
        most = MOST_PARTS * PART_BYTES // 1024
        raise InvalidObjectError("the bundle", "", f"is larger than {most} KiB, packed")
    return parts
