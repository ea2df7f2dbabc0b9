"""Volumes that show model weights, and clones and snapshots of their claims. Pure.

A driver copies a claim into a container or a disk that no WeightStore names. Nothing guards what
lies there, and nobody could say for which account it is, so no grant allows it (docs/adr/0039).
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Final

import msgspec

from admission.objects.reader import GROUP_SNAPSHOT_KIND, SNAPSHOT_KIND
from core.base.errors import InvalidObjectError, NotSyncedError
from core.base.json_errors import decode_json_as
from core.base.safe_text import printable
from core.decision.decision import Action, Finding
from core.decision.request import WRITES, Operation, Request
from core.kubernetes.persistent_volumes import PersistentVolume, parse_persistent_volume
from core.weights.access_paths import WeightStoreSet

COPY_RULE: Final = "weights/copy"

_CLAIM: Final = ("", "PersistentVolumeClaim")

_MEANT: Final = (
    "Mount that claim itself, under a grant. A copy that is meant is made by whoever keeps the "
    "store, into a container that the WeightStore names."
)
_LATER: Final = "Create it once that claim is bound to its volume."
_UNKNOWN: Final = (
    "Make the claim without a source, or from another claim; or in a namespace without claims of "
    "weights."
)

_SINGLY: Final = "Take a VolumeSnapshot of each claim that shows no weights."

VolumesOfNamespace = Callable[[str], Iterable[PersistentVolume]]
"""Gives the volumes that claims of a namespace have, or that are kept for some."""

VOLUME_RULE: Final = "weights/volume"

_PATH: Final = "spec.claimRef"
_ANEW: Final = (
    "Create the volume by hand, with spec.claimRef naming namespace and name of its claim, before "
    "the claim is there; to give it to another claim, delete it and create it anew."
)


class _Reference(msgspec.Struct, frozen=True, rename="camel"):
    kind: str = ""
    name: str = ""
    api_group: str | None = None
    namespace: str | None = None


class _Source(msgspec.Struct, frozen=True, rename="camel"):
    persistent_volume_claim_name: str | None = None
    selector: dict[str, msgspec.Raw] | None = None
    """Of a group's snapshot: which claims of its namespace, by their labels."""


class _Spec(msgspec.Struct, frozen=True, rename="camel"):
    data_source: _Reference | None = None
    data_source_ref: _Reference | None = None
    source: _Source | None = None


class _Copying(msgspec.Struct, frozen=True):
    spec: _Spec = _Spec()


def is_copy(request: Request) -> bool:
    """Return whether a request makes a claim, or a snapshot of one or of many.

    What they are made from never changes.
    """
    kind = request.kind.group, request.kind.kind
    copies = kind in {_CLAIM, SNAPSHOT_KIND, GROUP_SNAPSHOT_KIND}
    return copies and request.operation is Operation.CREATE


def copy_findings(
    request: Request, kept_in: VolumesOfNamespace, stores: WeightStoreSet
) -> tuple[Finding, ...]:
    """Say what speaks against a claim or a snapshot that is made from a claim.

    Raises:
        InvalidObjectError: it does not have its kind's shape.
        NotSyncedError: it may show a store that cannot be read; or volumes are not known.
    """
    if (request.kind.group, request.kind.kind) == GROUP_SNAPSHOT_KIND:
        return _group_findings(request, kept_in, stores)
    for path, reference in _sources(request):
        namespace = reference.namespace or request.namespace
        found = _copy_problem(reference, namespace, kept_in(namespace), stores)
        if found:
            message, remedy = found
            return (Finding(COPY_RULE, Action.DENY, path, message, remedy),)
    return ()


def _group_findings(
    request: Request, kept_in: VolumesOfNamespace, stores: WeightStoreSet
) -> tuple[Finding, ...]:
    """Say what speaks against a snapshot of all claims that a selector chooses.

    Labels of claims are not known, and may change until it is taken.
    """
    spec = _spec_of(request)
    if spec.source is None or spec.source.selector is None:
        return ()
    shown = _stores_of_volumes(kept_in(request.namespace), stores)
    if not shown:
        return ()
    told = f"takes what a selector chooses, which may show the weights of {', '.join(shown)}"
    return (Finding(COPY_RULE, Action.DENY, "spec.source.selector", told, _SINGLY),)


def _spec_of(request: Request) -> _Spec:
    if request.object is None:
        raise InvalidObjectError(request.kind.kind, "object", "the review holds none")
    return decode_json_as(_Copying, request.object, request.kind.kind).spec


def _sources(request: Request) -> Iterator[tuple[str, _Reference]]:
    """Yield what it is made from, and where it says so."""
    spec = _spec_of(request)
    if (request.kind.group, request.kind.kind) == SNAPSHOT_KIND:
        name = spec.source.persistent_volume_claim_name if spec.source else None
        if name:
            yield "spec.source.persistentVolumeClaimName", _Reference(kind=_CLAIM[1], name=name)
        return
    for field, reference in (
        ("spec.dataSource", spec.data_source),
        ("spec.dataSourceRef", spec.data_source_ref),
    ):
        if reference is not None:
            yield field, reference


def _copy_problem(
    source: _Reference, namespace: str, kept: Iterable[PersistentVolume], stores: WeightStoreSet
) -> tuple[str, str] | None:
    """Return what speaks against this source, and what to do about it."""
    volumes = list(kept)
    name = printable(source.name, 100)
    if (source.api_group or "", source.kind) == _CLAIM:
        own = [each for each in volumes if each.claim == f"{namespace}/{source.name}"]
        if not own:
            return f"copies claim {name}, which has no volume that is known yet", _LATER
        shown = _stores_of_volumes(own, stores)
        told = f"copies claim {name}, which shows the weights of {', '.join(shown)}"
        return (told, _MEANT) if shown else None
    shown = _stores_of_volumes(volumes, stores)
    what = f"{printable(source.kind, 100)} {name}"
    told = f"is made from {what}, which may be of weights of {', '.join(shown)} in {namespace}"
    return (told, _UNKNOWN) if shown else None


def _stores_of_volumes(volumes: Iterable[PersistentVolume], stores: WeightStoreSet) -> list[str]:
    mounts = [mount for each in volumes for mount in each.mounts]
    if mounts and stores.broken:
        named = ", ".join(stores.broken)
        message = f"WeightStore {named} cannot be read, and this may copy it: correct the store"
        raise NotSyncedError(message)
    return sorted({way.store.name for way in stores.mounting(mounts)})


def is_volume(request: Request) -> bool:
    """Return whether a request makes or changes a PersistentVolume."""
    kind = (request.kind.group, request.kind.kind) == ("", "PersistentVolume")
    return kind and request.operation in WRITES


def volume_findings(request: Request, stores: WeightStoreSet) -> tuple[Finding, ...]:
    """Say what speaks against a volume that shows a store; nothing against any other.

    Raises:
        InvalidObjectError: it does not have its kind's shape.
    """
    if request.object is None:
        raise InvalidObjectError("PersistentVolume", "object", "the review holds none")
    volume = parse_persistent_volume(request.object)
    reached = _stores_of_volume(volume, stores)
    if not reached:
        return ()
    why = _volume_problem(request, volume, reached, stores)
    if not why:
        return ()
    message = f"shows the weights of {', '.join(reached)}, and {why}"
    return (Finding(VOLUME_RULE, Action.DENY, _PATH, message, _ANEW),)


def _volume_problem(
    request: Request, volume: PersistentVolume, reached: list[str], stores: WeightStoreSet
) -> str:
    if request.operation is Operation.CREATE or request.old_object is None:
        if not volume.claim:
            return "does not say which claim it is kept for"
        return "is made for a claim that is there already" if volume.claim_uid else ""
    before = parse_persistent_volume(request.old_object)
    if volume.claim not in {"", before.claim}:
        return "is given to another claim"
    if not set(reached) <= set(_stores_of_volume(before, stores)):
        return "did not before: its mount options were changed"
    return ""


def _stores_of_volume(volume: PersistentVolume, stores: WeightStoreSet) -> list[str]:
    return sorted({way.store.name for way in stores.mounting(volume.mounts)})
