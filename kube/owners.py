"""Who owns what: one GET of the metadata alone for each owner, remembered for a few seconds.

`PartialObjectMetadata` (meta.k8s.io/v1) is what kube-apiserver answers to the `Accept` below:
neither spec nor status travel, whatever the kind. RBAC cannot say so: its `get` is on the whole.
"""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from functools import partial
from http import HTTPStatus
from typing import Final

import msgspec

from core.decoding import unreadable
from core.errors import ClusterError, OwnerUnknownError
from core.notes import Owned, controller_reference, read_notes
from core.pod import OwnerReference
from core.workloads import workload_of
from kube.connection import Connection
from kube.manifests import Manifest
from kube.settings import LiveSettings

METADATA_ONLY: Final = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"


class _Metadata(msgspec.Struct, rename="camel", frozen=True):
    uid: str = ""
    name: str = ""
    namespace: str = ""
    annotations: dict[str, str] | None = None
    owner_references: list[OwnerReference] | None = None


class _Partial(msgspec.Struct):
    metadata: _Metadata = _Metadata()


class _Resource(msgspec.Struct):
    name: str
    kind: str


class _Resources(msgspec.Struct):
    resources: list[_Resource] = []


_MOST_PARTS: Final = 3
"""Group, version and name."""
_NO_SEGMENT: Final = frozenset("/%?#\\ ")
_PARTIAL: Final = msgspec.json.Decoder(_Partial)

Ask = Callable[[str, OwnerReference], Awaitable[Owned | None]]
"""Gets an owner of a namespace; raises OwnerUnknownError where the cluster did not say."""


class OwnerGets:
    """Gets the metadata of owners, so many at a time and no longer."""

    def __init__(self, connection: Connection, settings: LiveSettings) -> None:
        self._connection = connection
        self._timeout_s = settings.review_timeout_s
        self._turns = asyncio.Semaphore(settings.reviews_in_flight)
        self._discovered: dict[tuple[str, str], str] = {}

    async def get(self, namespace: str, reference: OwnerReference) -> Owned | None:
        """Get one owner; None where it is not there, or another one has its name.

        Raises:
            OwnerUnknownError: no answer in time, or a failure.
        """
        if not _may_exist(reference):
            return None
        what = f"{reference.kind} {namespace}/{reference.name}"
        try:
            async with asyncio.timeout(self._timeout_s), self._turns:
                body = await self._metadata(await self._path(namespace, reference))
            found = _PARTIAL.decode(body).metadata
        except TimeoutError:
            raise _not_said(what, f"no answer in {self._timeout_s:g} s") from None
        except ClusterError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                return None
            raise _not_said(what, str(error)) from error
        except msgspec.DecodeError as error:
            raise _not_said(what, f"the answer is no object's metadata: {error}") from None
        if found.uid != reference.uid:
            return None
        return _owned(group_of(reference), reference.kind, found)

    async def _metadata(self, path: str) -> bytes:
        try:
            return await self._connection.get(path, self._timeout_s, {}, accept=METADATA_ONLY)
        except ClusterError as error:
            if error.status:
                raise
            # A kept connection may have been closed meanwhile.
            return await self._connection.get(path, self._timeout_s, {}, accept=METADATA_ONLY)

    async def _path(self, namespace: str, reference: OwnerReference) -> str:
        workload = workload_of(group_of(reference), reference.kind)
        if workload is not None:
            version = _version(reference)
            version = version if version in workload.versions else workload.versions[0]
            base, resource = _base(workload.group, version), workload.resource
        else:
            base = _base(group_of(reference), _version(reference))
            resource = await self._discover(base, reference.kind)
        return f"{base}/namespaces/{namespace}/{resource}/{reference.name}"

    async def _discover(self, base: str, kind: str) -> str:
        """Ask which resource a kind is that no table names: an operator's own."""
        known = self._discovered.get((base, kind))
        if known is not None:
            return known
        body = await self._connection.get(base, self._timeout_s, {})
        for each in msgspec.json.decode(body, type=_Resources).resources:
            if each.kind == kind and "/" not in each.name:
                self._discovered[base, kind] = each.name
                return each.name
        raise ClusterError(f"GET {base}: no resource of kind {kind}", HTTPStatus.NOT_FOUND)


def group_of(reference: OwnerReference) -> str:
    """Give the API group of an owner; empty for the core group."""
    return reference.api_version.rpartition("/")[0]


def _version(reference: OwnerReference) -> str:
    return reference.api_version.rpartition("/")[2]


def _may_exist(reference: OwnerReference) -> bool:
    """Say whether an object could be called so: anyone may write a reference, and it makes a path.

    Names are path segments (apimachinery, pkg/api/validation/path).
    """
    parts = (*reference.api_version.split("/"), reference.name)
    plain = all(part.strip(".") and not set(part) & _NO_SEGMENT for part in parts)
    return plain and len(parts) <= _MOST_PARTS


def _base(group: str, version: str) -> str:
    return f"/apis/{group}/{version}" if group else f"/api/{version}"


def _not_said(what: str, why: str) -> OwnerUnknownError:
    return OwnerUnknownError(f"the cluster did not say who asked for {what}: {why}")


def read_owned(manifest: Manifest) -> tuple[str, Owned]:
    """Read the namespace of a manifest, and what it is as an owner.

    Raises:
        InvalidObjectError: its metadata has not the shape that Kubernetes gives it.
    """
    try:
        metadata = _PARTIAL.decode(manifest.raw).metadata
    except msgspec.DecodeError as error:
        raise unreadable(manifest.source, error) from error
    return metadata.namespace, _owned(manifest.group, manifest.kind, metadata)


def _owned(group: str, kind: str, metadata: _Metadata) -> Owned:
    return Owned(
        group=group,
        kind=kind,
        name=metadata.name,
        uid=metadata.uid,
        notes=read_notes(metadata.annotations),
        owner=controller_reference(metadata.owner_references),
    )


class OwnerCache:
    """Owners by UID, each remembered for a while from the moment it was asked for.

    Those who ask for the same one at the same time share a request. An error is remembered by
    nobody, and neither is an owner that was not there.
    """

    def __init__(
        self,
        ask: Ask,
        *,
        size: int = 20_000,
        age_s: float = 10.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Keep at most `size` owners, about 600 bytes each: those used last."""
        self._ask = ask
        self._size = size
        self._age_s = age_s
        self._clock = clock
        self._known: OrderedDict[tuple[str, OwnerReference], tuple[Owned, float]] = OrderedDict()
        self._asking: dict[tuple[str, OwnerReference], asyncio.Task[Owned | None]] = {}
        self.gets = 0
        """Owners asked for."""

    def __len__(self) -> int:
        return len(self._known)

    async def owner(
        self, namespace: str, reference: OwnerReference, *, fresh: bool = False
    ) -> Owned | None:
        """Answer from memory, or ask; `fresh` asks in any case.

        Raises:
            OwnerUnknownError: the cluster did not say.
        """
        key = (namespace, reference)
        kept = None if fresh else self._known.get(key)
        if kept is not None and self._clock() < kept[1]:
            self._known.move_to_end(key)
            return kept[0]
        asking = None if fresh else self._asking.get(key)
        if asking is None:
            asking = asyncio.create_task(self._get(key))
            self._asking[key] = asking
            asking.add_done_callback(partial(self._done, key))
        return await asyncio.shield(asking)

    async def close(self) -> None:
        """Stop all that is being asked."""
        asking = list(self._asking.values())
        for task in asking:
            task.cancel()
        await asyncio.gather(*asking, return_exceptions=True)

    async def _get(self, key: tuple[str, OwnerReference]) -> Owned | None:
        self.gets += 1
        asked = self._clock()
        found = await self._ask(*key)
        if found is None:
            self._known.pop(key, None)
            return None
        self._known[key] = (found, asked + self._age_s)
        self._known.move_to_end(key)
        if len(self._known) > self._size:
            self._known.popitem(last=False)
        return found

    def _done(self, key: tuple[str, OwnerReference], task: asyncio.Task[Owned | None]) -> None:
        if self._asking.get(key) is task:
            del self._asking[key]
        if not task.cancelled():
            task.exception()  # Seen, also when no one waits any more.
