"""The requester note on an object's metadata, owner references, and the root workload of a Pod."""

from collections.abc import Iterable, Mapping

import msgspec

from core.base import names
from core.kubernetes.object_meta import ObjectMeta, OwnerReference
from core.kubernetes.workload_kinds import GroupKind


class RequesterNotes(msgspec.Struct, frozen=True, gc=False):
    """What is noted on an object's metadata; None is not noted."""

    requester: str | None = None
    """`Subject.label` of who created it, or last changed its templates."""
    profile: str | None = None
    """The profile that it was admitted under then."""
    grants: str | None = None
    """The AccessGrants that named its requester then, where its Pods reach model weights."""


NO_NOTES = RequesterNotes()


def read_notes(annotations: Mapping[str, str | None] | None) -> RequesterNotes:
    """Read the notes among annotations; an empty value is none."""
    if not annotations:
        return NO_NOTES
    requester = annotations.get(names.REQUESTER_ANNOTATION) or None
    profile = annotations.get(names.PROFILE_ANNOTATION) or None
    grants = annotations.get(names.GRANTS_ANNOTATION) or None
    return (
        RequesterNotes(requester, profile, grants) if requester or profile or grants else NO_NOTES
    )


def controller_reference(references: Iterable[OwnerReference] | None) -> OwnerReference | None:
    """Return the owner that an object is made for: the one that controls it, else the only one.

    kube-apiserver allows one that controls it.
    """
    owners = list(references or ())
    only = owners[0] if len(owners) == 1 else None
    return next((each for each in owners if each.controller), only)


def kind_of_owner(owner: OwnerReference) -> GroupKind:
    """Return the API group and kind of an owner."""
    return owner.api_version.rpartition("/")[0], owner.kind


class OwnerObject(msgspec.Struct, frozen=True, gc=False):
    """An object that owns others, as it is in the cluster now."""

    group: str
    kind: str
    name: str
    uid: str
    notes: RequesterNotes = NO_NOTES
    owner: OwnerReference | None = None
    """The owner that controls it."""


class RootWorkload(msgspec.Struct, frozen=True, gc=False):
    """Where a Pod comes from: the workload that somebody submitted, and what is noted of it."""

    kind: str
    name: str
    uid: str
    requester: str | None = None
    """`Subject.label`; None where the workload has no note."""
    profile: str | None = None
    group: str = ""
    """Of its kind."""
    straight: bool = False
    """Whether nobody else is noted on the way: what lies between was made by controllers."""
    grants: str | None = None
    """Noted with the requester."""


def profile_annotation(metadata: ObjectMeta) -> str | None:
    """Return the profile that an object names, or was noted under."""
    return (metadata.annotations or {}).get(names.PROFILE_ANNOTATION)
