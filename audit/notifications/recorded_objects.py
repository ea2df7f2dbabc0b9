"""Which object a recorded change is of, and how many objects a follower of changes keeps."""

from collections.abc import MutableMapping
from typing import Protocol, TypeVar

from core.weights.documents.object_change import ObjectChange

ObjectKey = tuple[str, str]
"""The cluster, and what names the object there."""


class Written(Protocol):
    """An object, as its last change shows it."""

    @property
    def written_ms(self) -> int:
        """When it was written, in Unix milliseconds."""


_W = TypeVar("_W", bound=Written)


def key_of(change: ObjectChange) -> ObjectKey:
    """Return what names the object of a change: its UID, where that was recorded."""
    return change.cluster, change.uid or f"{change.kind} {change.namespace}/{change.name}"


def name_of(change: ObjectChange) -> str:
    """Return the name for people: `NAMESPACE/NAME`, or `NAME` where there is no namespace."""
    return f"{change.namespace}/{change.name}" if change.namespace else change.name


def keep_latest(objects: MutableMapping[ObjectKey, _W], most: int) -> None:
    """Forget all but the objects that were written last."""
    excess = len(objects) - most
    if excess > 0:
        for key in sorted(objects, key=lambda key: objects[key].written_ms)[:excess]:
            del objects[key]
