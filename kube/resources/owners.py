"""Who owns what: one GET of the metadata alone for each owner, remembered for a few seconds.

`PartialObjectMetadata` (meta.k8s.io/v1) is what kube-apiserver answers to the `Accept` below:
neither spec nor status travel, whatever the kind. RBAC cannot say so: its `get` is on the whole.
"""

import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Final

import msgspec

from core.base.errors import ClusterError, OwnerUnknownError
from core.base.json_errors import decode_error
from core.decision.requester_notes import (
    OwnerObject,
    controller_reference,
    kind_of_owner,
    read_notes,
)
from core.kubernetes.object_meta import OwnerReference
from core.kubernetes.workload_kinds import workload_of
from kube.client.settings import LiveSettings
from kube.client.singleflight import SingleFlight
from kube.manifests.reader import Manifest
from kube.resources.lookups import ObjectLookup, may_exist

if TYPE_CHECKING:  # It imports aiohttp and kubernetes: not for a folder's sake.
    from kube.client.connection import Connection

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
_PARTIAL: Final = msgspec.json.Decoder(_Partial)

Ask = Callable[[str, OwnerReference], Awaitable[OwnerObject | None]]
"""Gets an owner of a namespace; raises OwnerUnknownError where the cluster did not say."""


class OwnerLookup:
    """Gets the metadata of owners, so many at a time and no longer."""

    def __init__(self, connection: "Connection", settings: LiveSettings) -> None:
        self._gets = ObjectLookup(connection, settings)
        self._discovered: dict[tuple[str, str], str] = {}

    async def get(self, namespace: str, reference: OwnerReference) -> OwnerObject | None:
        """Get one owner; None where it is not there, or another one has its name.

        Raises:
            OwnerUnknownError: no answer in time, or a failure.
        """
        if not _may_exist(reference):
            return None
        what = f"{reference.kind} {namespace}/{reference.name}"
        try:
            collection = await self._collection(namespace, reference)
            path = f"{collection}/{reference.name}"
            body = None
            if collection:
                body = await self._gets.get(path, namespace, accept=METADATA_ONLY)
            found = _PARTIAL.decode(body).metadata if body is not None else None
        except ClusterError as error:
            raise _not_said(what, str(error)) from error
        except msgspec.DecodeError as error:
            raise _not_said(what, f"the answer is no object's metadata: {error}") from None
        if found is None or found.uid != reference.uid:
            return None
        return _owned(*kind_of_owner(reference), found)

    async def _collection(self, namespace: str, reference: OwnerReference) -> str:
        """Return the path of the objects of an owner's kind; empty where there is no such kind."""
        group, kind = kind_of_owner(reference)
        version = reference.api_version.rpartition("/")[2]
        workload = workload_of(group, kind)
        if workload is not None:
            version = version if version in workload.versions else workload.versions[0]
        base = f"/apis/{group}/{version}" if group else f"/api/{version}"
        resource = workload.resource if workload else await self._discover(base, kind)
        return f"{base}/namespaces/{namespace}/{resource}" if resource else ""

    async def _discover(self, base: str, kind: str) -> str:
        """Ask which resource a kind is that no table names: an operator's own; empty if none."""
        known = self._discovered.get((base, kind))
        if known is not None:
            return known
        body = await self._gets.get(base, "")
        listed = msgspec.json.decode(body, type=_Resources).resources if body is not None else []
        found = [each.name for each in listed if each.kind == kind and "/" not in each.name]
        if not found:
            return ""
        self._discovered[base, kind] = found[0]
        return found[0]


def _may_exist(reference: OwnerReference) -> bool:
    """Return whether an object could be called so: anyone may write a reference."""
    parts = (*reference.api_version.split("/"), reference.name)
    return len(parts) <= _MOST_PARTS and all(map(may_exist, parts))


def _not_said(what: str, why: str) -> OwnerUnknownError:
    return OwnerUnknownError(f"the cluster did not say who asked for {what}: {why}")


def read_owned(manifest: Manifest) -> tuple[str, OwnerObject]:
    """Read the namespace of a manifest, and what it is as an owner.

    Raises:
        InvalidObjectError: its metadata has not the shape that Kubernetes gives it.
    """
    try:
        metadata = _PARTIAL.decode(manifest.raw).metadata
    except msgspec.DecodeError as error:
        raise decode_error(manifest.source, error) from error
    return metadata.namespace or "default", _owned(manifest.group, manifest.kind, metadata)


def _owned(group: str, kind: str, metadata: _Metadata) -> OwnerObject:
    return OwnerObject(
        group=group,
        kind=kind,
        name=metadata.name,
        uid=metadata.uid,
        notes=read_notes(metadata.annotations),
        owner=controller_reference(metadata.owner_references),
    )


class OwnerCache:
    """Owners by UID, each remembered for a while from the moment it was asked for.

    Those who ask for the same one at the same time share a request (`kube.client.singleflight`). An
    owner that was not there is remembered by nobody.
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
        self._known: OrderedDict[tuple[str, OwnerReference], tuple[OwnerObject, float]] = (
            OrderedDict()
        )
        self._asking = SingleFlight[tuple[str, OwnerReference], OwnerObject | None]()
        self.gets = 0
        """Owners asked for."""

    def __len__(self) -> int:
        return len(self._known)

    async def owner(
        self, namespace: str, reference: OwnerReference, *, fresh: bool = False
    ) -> OwnerObject | None:
        """Answer from memory, or ask; `fresh` asks in any case.

        Raises:
            OwnerUnknownError: the cluster did not say.
        """
        key = (namespace, reference)
        kept = None if fresh else self._known.get(key)
        if kept is not None and self._clock() < kept[1]:
            self._known.move_to_end(key)
            return kept[0]
        return await self._asking.answer(key, partial(self._get, key), fresh=fresh)

    async def close(self) -> None:
        """Stop all that is being asked."""
        await self._asking.close()

    async def _get(self, key: tuple[str, OwnerReference]) -> OwnerObject | None:
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
