"""The decisions that admitted Pods: what ran, under what, and for whom."""

import itertools
import sys
from functools import lru_cache
from typing import Any, Final

import msgspec

from core.decision.document import DecisionSource

MOST_WAITING: Final = 100_000
"""Decisions of Pods of which nothing else is known yet: a gang is admitted before it is seen."""

MOST_IMAGES: Final = 16
"""Of one Pod, that are kept."""

_CREATES: Final = "CREATE"
_PINNED: Final = "@sha256:"


class Admission(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """What a decision says of a Pod; one of a gang is shared by all of it, but for the id."""

    images: tuple[str, ...] = ()
    """By digest, where they were named so."""
    profile: str = ""
    sandbox: str = ""
    requester: str = ""
    """`Subject.label` of who submitted the workload, or the Pod itself."""
    grants: tuple[str, ...] = ()
    """`namespace/name@uid` of the AccessGrants that it was admitted under."""


class _Request(msgspec.Struct, rename="camel"):
    operation: str = ""
    kind: str = ""
    object_uid: str = ""
    dry_run: bool = False


class _Root(msgspec.Struct):
    requester: str = ""


class AdmissionDocument(msgspec.Struct, rename="camel"):
    """A decision document, as far as it is read here."""

    id: str
    source: DecisionSource
    request: _Request
    requester: str = ""
    allowed: bool = False
    root: _Root | None = None
    profile: str | None = None
    sandbox: str | None = None
    grants: list[str] = []
    projection: str = ""

    @property
    def counts(self) -> bool:
        """Whether it admitted a Pod that can be told from others."""
        asked = self.request
        return bool(
            asked.kind == "Pod"
            and asked.object_uid
            and self.allowed
            and not asked.dry_run
            and self.source == "validate"
            and asked.operation == _CREATES
        )


_DECODER: Final = msgspec.json.Decoder(AdmissionDocument)


class _Container(msgspec.Struct):
    image: str = ""


class _Projection(msgspec.Struct):
    containers: list[_Container] = []


_PROJECTION: Final = msgspec.json.Decoder(_Projection)


def read_admitted(content: bytes) -> AdmissionDocument:
    """Read what is needed of a decision document.

    Raises:
        ValueError: it is none.
    """
    return _DECODER.decode(content)


def images_of(projection: bytes) -> tuple[str, ...]:
    """Return the images that a projection names by digest.

    Raises:
        ValueError: it is none.
    """
    named = (each.image for each in _PROJECTION.decode(projection).containers)
    return tuple(sorted({image for image in named if _PINNED in image}))[:MOST_IMAGES]


class Admissions:
    """Decisions by the Pod's UID: of those that are kept, and for a while of all others."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[str, Admission]] = {}
        self._waiting: dict[str, tuple[str, Admission]] = {}

    def take(self, admitted: AdmissionDocument, images: tuple[str, ...], *, kept: bool) -> None:
        """Take in a decision that counts; `kept`: the Pod is one that is kept.

        Of several on one Pod the earliest counts: nobody knows its UID before kube-apiserver has
        asked for that one, whereas a copy of the UID can be sent to a gate later.
        """
        root = admitted.root
        admission = _shared(
            images,
            admitted.profile or "",
            admitted.sandbox or "",
            (root.requester if root else "") or admitted.requester,
            tuple(admitted.grants),
        )
        into, uid = self._kept if kept else self._waiting, admitted.request.object_uid
        known = into.get(uid)
        if known is None or admitted.id < known[0]:
            into[uid] = (admitted.id, admission)
        if len(self._waiting) > MOST_WAITING:
            for uid in list(itertools.islice(self._waiting, MOST_WAITING // 10)):
                del self._waiting[uid]

    def keep(self, uid: str) -> None:
        """Keep what is known of a Pod until `drop`."""
        if waiting := self._waiting.pop(uid, None):
            self._kept.setdefault(uid, waiting)

    def drop(self, uid: str) -> None:
        """Forget a Pod."""
        self._waiting.pop(uid, None)
        self._kept.pop(uid, None)

    def of(self, uid: str) -> tuple[str, Admission] | None:
        """Return a Pod's decision: its id, and what it says."""
        return self._kept.get(uid) or self._waiting.get(uid)

    def saved(self) -> list[Any]:
        """Return all as plain values: what a Pod is known by may come after its decision."""
        return [[[uid, *found] for uid, found in each.items()] for each in self._both]

    def restore(self, saved: list[Any]) -> None:
        """Take back what `saved` gave."""
        for into, rows in zip(self._both, saved, strict=True):
            for uid, decision, admission in rows:
                read = msgspec.convert(admission, Admission)
                into[uid] = (decision, _shared(*msgspec.structs.astuple(read)))

    @property
    def _both(self) -> tuple[dict[str, tuple[str, Admission]], dict[str, tuple[str, Admission]]]:
        return self._kept, self._waiting


@lru_cache(maxsize=16_384)
def _shared(
    images: tuple[str, ...], profile: str, sandbox: str, requester: str, grants: tuple[str, ...]
) -> Admission:
    return Admission(images, sys.intern(profile), sys.intern(sandbox), requester, grants)
