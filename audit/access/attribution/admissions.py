"""The decisions that admitted Pods: what ran, under what, and for whom."""

import itertools
import sys
from collections.abc import Sequence
from operator import itemgetter
from typing import Any, Final, NamedTuple

import msgspec

from core.base.ids import uuid7_unix_ms
from core.base.short_text_cache import cache_short_texts
from core.decision.document import DecisionSource

MOST_WAITING: Final = 100_000
"""Decisions of Pods of which nothing else is known yet: a gang is admitted before it is seen."""

MOST_OF_A_POD: Final = 3
"""Decisions on one Pod that are kept, and one more, which says that there were more: kube-apiserver
asks for one. Others are made up."""

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
    digest: str = ""
    """Of the Pod's `spec` (`core.decision.document.Asked.digest`); empty where none is kept."""


class PodDecision(NamedTuple):
    """A decision that claims to have admitted a Pod."""

    id: str
    admission: Admission

    @property
    def at(self) -> float:
        """Unix seconds, by the gate's clock."""
        return uuid7_unix_ms(self.id) / 1000


def merge_admissions(found: Sequence[Admission]) -> Admission:
    """Return what all of several say: a field in which they differ says nothing."""
    fields = zip(*map(msgspec.structs.astuple, found), strict=True)
    same = [each[0] if len(set(each)) == 1 else type(each[0])() for each in fields]
    return Admission(*same)


class _Request(msgspec.Struct, rename="camel"):
    operation: str = ""
    kind: str = ""
    object_uid: str = ""
    digest: str = ""
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


_Decisions = tuple[PodDecision, ...]


class Admissions:
    """Decisions by the Pod's UID: of those that are kept, and for a while of all others."""

    def __init__(self) -> None:
        self._kept: dict[str, _Decisions] = {}
        self._waiting: dict[str, _Decisions] = {}

    def take(self, admitted: AdmissionDocument, images: tuple[str, ...], *, kept: bool) -> None:
        """Take in a decision that counts; `kept`: the Pod is one that is kept."""
        root = admitted.root
        admission = _shared(
            images,
            admitted.profile or "",
            admitted.sandbox or "",
            (root.requester if root else "") or admitted.requester,
            tuple(admitted.grants),
            admitted.request.digest,
        )
        into, uid = self._kept if kept else self._waiting, admitted.request.object_uid
        into[uid] = _joined(into.get(uid, ()), (PodDecision(admitted.id, admission),))
        if len(self._waiting) > MOST_WAITING:
            for uid in list(itertools.islice(self._waiting, MOST_WAITING // 10)):
                del self._waiting[uid]

    def keep(self, uid: str) -> None:
        """Keep what is known of a Pod until `drop`."""
        if waiting := self._waiting.pop(uid, None):
            self._kept[uid] = _joined(self._kept.get(uid, ()), waiting)

    def drop(self, uid: str) -> None:
        """Forget a Pod."""
        self._waiting.pop(uid, None)
        self._kept.pop(uid, None)

    def of(self, uid: str) -> Sequence[PodDecision]:
        """Return the decisions on a Pod, the earliest first; over MOST_OF_A_POD: not all."""
        return self._kept.get(uid) or self._waiting.get(uid, ())

    def saved(self) -> list[Any]:
        """Return all as plain values: what a Pod is known by may come after its decision."""
        return [
            [[uid, *decision] for uid, found in each.items() for decision in found]
            for each in self._both
        ]

    def restore(self, saved: list[Any]) -> None:
        """Take back what `saved` gave."""
        for into, rows in zip(self._both, saved, strict=True):
            for uid, decision, admission in rows:
                read = msgspec.convert(admission, Admission)
                made = PodDecision(decision, _shared(*msgspec.structs.astuple(read)))
                into[uid] = _joined(into.get(uid, ()), (made,))

    @property
    def _both(self) -> tuple[dict[str, _Decisions], dict[str, _Decisions]]:
        return self._kept, self._waiting


def _joined(known: _Decisions, new: _Decisions) -> _Decisions:
    """Return decisions by their ids, each once; those that come beyond the most are left out."""
    found = dict(known)
    for each in new:
        if len(found) <= MOST_OF_A_POD:
            found.setdefault(*each)
    return tuple(PodDecision(*each) for each in sorted(found.items(), key=itemgetter(0)))


@cache_short_texts(16_384, longest=2048)
def _shared(  # noqa: PLR0913, PLR0917  The fields of what is shared.
    images: tuple[str, ...],
    profile: str,
    sandbox: str,
    requester: str,
    grants: tuple[str, ...],
    digest: str,
) -> Admission:
    return Admission(images, sys.intern(profile), sys.intern(sandbox), requester, grants, digest)
