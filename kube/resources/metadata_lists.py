"""What is there of kinds that somebody may have left something of: metadata, page by page, in turn.

Nothing is watched or kept: it is read while somebody is looked back on. At 100,000 Pods and 50,000
ReplicaSets that is about 300 pages; `ListPace` spreads them.
"""

import asyncio
import datetime as dt
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

import msgspec

from core.base import names
from core.base.errors import ClusterError
from core.decision.requester_notes import controller_reference
from core.kubernetes.object_meta import OwnerReference
from core.people.two_person import read_people, read_person
from core.risk.look_back import LiveObject
from kube.client.objects import PAGE, Objects, Page

_GONE: Final = frozenset({HTTPStatus.GONE})


@dataclass(frozen=True)
class Listing:
    """A kind, and where its objects are listed."""

    group: str
    kind: str
    resource: str
    versions: tuple[str, ...]
    """Tried in turn, until one is served."""

    def path(self, version: str) -> str:
        """Return the path of all its objects, in all namespaces."""
        base = f"/apis/{self.group}/{version}" if self.group else f"/api/{version}"
        return f"{base}/{self.resource}"


@dataclass
class ListPace:
    """Keeps the listing to a rate."""

    per_second: float = 5000.0
    read: int = 0
    """Objects read so far."""
    on_page: Callable[[int], None] | None = None
    """Told how many were read, after each page."""

    async def rest(self, objects: int, began: float) -> None:
        """Rest after a page of so many objects that was asked for at `began` (monotonic)."""
        self.read += objects
        if self.on_page is not None:
            self.on_page(self.read)
        await asyncio.sleep(max(0.0, began + objects / self.per_second - time.monotonic()))


class _Field(msgspec.Struct, frozen=True, rename="camel"):
    time: dt.datetime | None = None
    subresource: str = ""


class _Metadata(msgspec.Struct, frozen=True, rename="camel"):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    creation_timestamp: dt.datetime | None = None
    annotations: dict[str, str] | None = None
    owner_references: list[OwnerReference] | None = None
    managed_fields: list[_Field] | None = None


class _Object(msgspec.Struct):
    metadata: _Metadata = _Metadata()


class _Resource(msgspec.Struct):
    name: str
    kind: str


_DECODER: Final = msgspec.json.Decoder(_Object)
_ANNOTATIONS: Final = (
    names.AUTHOR_ANNOTATION,
    names.ACTIVATED_BY_ANNOTATION,
    names.APPROVER_ANNOTATION,
)


async def find_listing(objects: Objects, group: str, version: str, kind: str) -> Listing | None:
    """Ask kube-apiserver which resource a kind is that no table names; None where it is none.

    Raises:
        ClusterError: it does not answer, or refuses.
    """
    base = f"/apis/{group}/{version}" if group else f"/api/{version}"
    found = await objects.get(base)
    try:
        listed = msgspec.convert((found or {}).get("resources", []), list[_Resource])
    except msgspec.ValidationError:
        return None
    resource = next((one.name for one in listed if one.kind == kind and "/" not in one.name), None)
    return Listing(group, kind, resource, (version,)) if resource else None


async def raw_pages(
    objects: Objects, listing: Listing, pace: ListPace, *, metadata_only: bool = True
) -> AsyncIterator[list[msgspec.Raw]]:
    """Yield all objects of a kind, a page at a time; none where the cluster has no such kind.

    Where that takes so long that kube-apiserver forgets how the list was (410), it goes on in the
    cluster as it is by then: an object is left out only if it came meanwhile.

    Raises:
        ClusterError: kube-apiserver does not answer, or refuses.
    """
    token, versions = "", list(listing.versions)
    while versions:
        began = time.monotonic()
        try:
            path = listing.path(versions[0])
            page: Page = await objects.page(path, PAGE, token, metadata_only=metadata_only)
        except ClusterError as error:
            if error.status == HTTPStatus.NOT_FOUND and not token:
                del versions[0]
                continue
            if error.status not in _GONE or not error.continue_token:
                raise
            token = error.continue_token
            continue
        yield page.items
        await pace.rest(len(page.items), began)
        token = page.continue_token
        if not token:
            return


def read_live(raw: msgspec.Raw, group: str, kind: str) -> LiveObject:
    """Read an item of a list of a kind.

    Raises:
        ClusterError: it is no object, which kube-apiserver never says.
    """
    try:
        metadata = _DECODER.decode(raw).metadata
    except (ValueError, RecursionError):  # The first of which msgspec's own are some.
        raise ClusterError(f"an item of a list of {kind} is none") from None
    annotations = metadata.annotations or {}
    owner = controller_reference(metadata.owner_references)
    writers = [read_person(annotations.get(name, "")) for name in _ANNOTATIONS]
    writers += read_people(annotations.get(names.EDITORS_ANNOTATION, ""))
    created = metadata.creation_timestamp
    return LiveObject(
        group=group,
        kind=kind,
        namespace=metadata.namespace,
        name=metadata.name,
        uid=metadata.uid,
        created=int(created.timestamp()) if created else 0,
        changed=_changed(metadata.managed_fields or []),
        requester=annotations.get(names.REQUESTER_ANNOTATION, "").lower(),
        writers=frozenset(mark.lower() for writer in writers for mark in writer),
        owner=owner.uid if owner else "",
    )


def _changed(fields: list[_Field]) -> int:
    """Return when anything but a subresource was last written, in Unix seconds; 0 if not known."""
    times = [each.time.timestamp() for each in fields if each.time and not each.subresource]
    return int(max(times, default=0))
