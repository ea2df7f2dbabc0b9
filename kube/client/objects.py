"""Reads and writes single objects, and lists kinds page by page.

Paths are those of the API (`/api/v1/namespaces/x/secrets/y`). A write whose body names the
resourceVersion that was read (`replace`, `merge`, `change`) is a conflict where somebody else wrote
meanwhile; `delete` can name a UID. `apply` alone knows no precondition: it is for objects of which
the last writer is right, such as reports.
"""

import datetime as dt
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from core.base.errors import ClusterError
from core.base.process_names import CONTROL
from core.kubernetes.object_meta import ContinueMeta

if TYPE_CHECKING:  # It imports aiohttp and kubernetes: not for a folder's sake.
    from kube.client.connection import Connection

FIELD_MANAGER: Final = CONTROL

PAGE: Final = 500

_APPLY: Final = "application/apply-patch+yaml"
"""JSON is YAML; kube-apiserver 1.36 knows this content type for server-side apply."""

_METADATA_ONLY: Final = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"

_TIMEOUT_S: Final = 10.0


class _List(msgspec.Struct):
    metadata: ContinueMeta = ContinueMeta()
    items: list[msgspec.Raw] | None = None
    """null in a list of metadata that is empty."""


@dataclass(frozen=True)
class Page:
    """A part of a list."""

    items: list[msgspec.Raw]
    """JSON of each object; objects of a list carry no `kind` and `apiVersion`."""
    continue_token: str
    """Asks for the next page; empty on the last."""


class Objects:
    """Single objects of one cluster."""

    def __init__(self, connection: "Connection", timeout_s: float = 5.0) -> None:
        self._connection = connection
        self._timeout_s = timeout_s

    @property
    def timeout_s(self) -> float:
        """Seconds after which a request for a single object is given up."""
        return self._timeout_s

    @property
    def server_time(self) -> dt.datetime | None:
        """kube-apiserver's time, to a few seconds; None before its first answer."""
        return self._connection.server_clock.now()

    async def get(self, path: str) -> dict[str, Any] | None:
        """Return an object; None where there is none.

        Raises:
            ClusterError: kube-apiserver does not answer, or refuses.
        """
        try:
            return _decode(await self._connection.get(path, self._timeout_s, {}))
        except ClusterError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                return None
            raise

    async def create(self, collection: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Create an object in a collection (`…/secrets`).

        Raises:
            ClusterError: with the status 409, it is there already.
        """
        return await self.create_as(FIELD_MANAGER, collection, body)

    async def create_as(
        self, manager: str, collection: str, body: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Create an object in a collection as a field manager.

        Raises:
            ClusterError: with the status 409, it is there already.
        """
        return await self._write("POST", collection, body, {"fieldManager": manager})

    async def try_create(self, collection: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return an object as it would be if it were created (a dry run): nothing is stored.

        Raises:
            ClusterError: kube-apiserver does not answer, or refuses.
        """
        parameters = {"fieldManager": FIELD_MANAGER, "dryRun": "All"}
        return await self._write("POST", collection, body, parameters)

    async def replace(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Replace an object; with `metadata.resourceVersion`, only as it was when it was read.

        Raises:
            ClusterError: with the status 409, someone changed it meanwhile.
        """
        return await self._write("PUT", path, body)

    async def apply(
        self, path: str, body: Mapping[str, Any], manager: str = FIELD_MANAGER
    ) -> dict[str, Any]:
        """Set the fields of `body` (server-side apply), and take those over that others set.

        What `manager` set before and `body` leaves out is taken away. Without a precondition but
        the UID, where `body` names it: what was written meanwhile is overwritten.

        Raises:
            ClusterError: kube-apiserver does not answer, or refuses.
        """
        parameters = {"fieldManager": manager, "force": "true"}
        return await self._write("PATCH", path, body, parameters, _APPLY)

    async def merge(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Change the fields of `body` (RFC 7396); with a resourceVersion, only as it was read.

        Raises:
            ClusterError: with the status 409, someone changed it meanwhile.
        """
        return await self._write("PATCH", path, body, None, "application/merge-patch+json")

    async def change(
        self, path: str, version: str, operations: Sequence[Mapping[str, Any]]
    ) -> dict[str, Any]:
        """Change an object as it was in a version, by the operations of a JSON Patch (RFC 6902).

        Raises:
            ClusterError: with the status 409, it has another `resourceVersion` by now; with 422, a
                path does not fit the object.
        """
        unchanged = {"op": "replace", "path": "/metadata/resourceVersion", "value": version}
        patch = [unchanged, *operations]
        return await self._write("PATCH", path, patch, None, "application/json-patch+json")

    async def delete(self, path: str, uid: str = "") -> None:
        """Delete an object; with `uid`, only the one that has it. One that is gone is no error.

        Raises:
            ClusterError: with the status 409, another one has its name now.
        """
        body = {"preconditions": {"uid": uid}} if uid else {}
        try:
            await self._connection.send("DELETE", path, self._timeout_s, body=body)
        except ClusterError as error:
            if error.status != HTTPStatus.NOT_FOUND:
                raise

    async def page(
        self,
        collection: str,
        limit: int,
        continue_token: str = "",
        parameters: Mapping[str, str] | None = None,
        *,
        metadata_only: bool = False,
    ) -> Page:
        """Return a page of a list; with `metadata_only` nothing else of its objects.

        Raises:
            ClusterError: with the status 410, the token is too old; `continue_token` of the error
                goes on at the same place, in the cluster as it is now.
        """
        query = {**(parameters or {}), "limit": str(limit)}
        if continue_token:
            query["continue"] = continue_token
        accept = _METADATA_ONLY if metadata_only else "application/json"
        timeout_s = max(self._timeout_s, 30.0)
        body = await self._connection.get(collection, timeout_s, query, accept=accept)
        try:
            found = msgspec.json.decode(body, type=_List)
        except msgspec.DecodeError as error:
            raise ClusterError(f"GET {collection}: the answer is no list: {error}") from None
        return Page(found.items or [], found.metadata.continue_)

    async def _write(
        self,
        method: str,
        path: str,
        body: object,
        parameters: Mapping[str, str] | None = None,
        content_type: str = "application/json",
    ) -> dict[str, Any]:
        query = {"fieldManager": FIELD_MANAGER} if parameters is None else parameters
        return _decode(
            await self._connection.send(
                method,
                path,
                self._timeout_s,
                body=body,
                parameters=query,
                content_type=content_type,
            )
        )


def _decode(body: bytes) -> dict[str, Any]:
    try:
        return msgspec.json.decode(body, type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise ClusterError(f"the answer is no object: {error}") from None


@asynccontextmanager
async def open_objects(kubeconfig: Path | None) -> AsyncIterator[Objects]:
    """Yield the objects of the cluster of a kubeconfig.

    Raises:
        SettingsError: the credentials are missing or broken.
    """
    from kube.client.connection import Connection  # noqa: PLC0415 (slow)

    connection = Connection(kubeconfig)
    await connection.open()
    try:
        yield Objects(connection, _TIMEOUT_S)
    finally:
        await connection.close()


async def list_objects(
    objects: Objects,
    collection: str,
    page_size: int = PAGE,
    parameters: Mapping[str, str] | None = None,
) -> AsyncIterator[msgspec.Raw]:
    """Yield each object of a list, read page by page; `parameters` say which, and how.

    Where a list takes so long that kube-apiserver forgets how it was (410), it goes on in the
    cluster as it is by then.

    Raises:
        ClusterError: kube-apiserver does not answer, or refuses.
    """
    token = ""
    while True:
        try:
            page = await objects.page(collection, page_size, token, parameters)
        except ClusterError as error:
            if error.status != HTTPStatus.GONE or not error.continue_token:
                raise
            token = error.continue_token
            continue
        for item in page.items:
            yield item
        token = page.continue_token
        if not token:
            return
