"""Objects that need approval, kept by one watch of each kind; where asked, with their statuses.

Gates never ask: nothing is decided by a status. `control` does, to write what has changed.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Generic, TypeVar

import msgspec
import structlog

from core.base.errors import InvalidObjectError
from core.base.json_errors import DECODE_ERRORS, decode_error
from core.kubernetes.conditions import Condition
from kube.client.settings import LiveSettings
from kube.watch.listwatch import ListWatch, Resource, skip_broken

if TYPE_CHECKING:  # It imports aiohttp and kubernetes: not for a folder's sake.
    from kube.client.connection import Connection

_log = structlog.get_logger(__name__)

T = TypeVar("T")


class ApprovalStatus(msgspec.Struct, frozen=True, rename="camel"):
    """`status` of a kind that needs approval, or gives it."""

    observed_generation: int = 0
    ends: str | None = None
    """RFC 3339; None where nothing is to end."""
    approved_by: tuple[str, ...] = ()
    """Pseudonyms of those whose approval counts (docs/adr/0009)."""
    conditions: tuple[Condition, ...] = ()

    def condition(self, kind: str) -> Condition | None:
        """Return a condition."""
        return next((each for each in self.conditions if each.type == kind), None)


class StatusHead(msgspec.Struct, frozen=True):
    """What a status is written by: which object, and what stands there."""

    namespace: str
    name: str
    uid: str
    generation: int
    status: ApprovalStatus | None
    """None where there is none, or one that cannot be read."""
    problem: str
    """Why the object cannot be read; empty where it can."""


class ObjectWithStatus(msgspec.Struct, Generic[T], frozen=True):
    """An object of a kind that needs approval."""

    head: StatusHead
    value: T | None
    """None where it cannot be read."""


class _Meta(msgspec.Struct):
    name: str
    namespace: str = ""
    uid: str = ""
    generation: int = 0


class _BareHead(msgspec.Struct):
    metadata: _Meta


class _Head(_BareHead):
    status: ApprovalStatus | None = None


class ApprovedKindWatch(Generic[T]):
    """The objects of one kind; run `run` as a task. `take` gets all that can be read."""

    def __init__(
        self,
        connection: "Connection",
        settings: LiveSettings,
        resource: Resource[T],
        take: Callable[[Iterable[T]], None],
    ) -> None:
        self._take = take
        self._what = resource.what
        self._parse = resource.parse
        self._with_status: ListWatch[ObjectWithStatus[T]] | None = None
        self._watch: ListWatch[T] | ListWatch[ObjectWithStatus[T]]
        if settings.statuses:
            follow = Resource(resource.what, resource.path, self._read)
            self._watch = self._with_status = ListWatch(
                connection, follow, self._take_with_status, settings
            )
        else:
            follow_bare = Resource(resource.what, resource.path, skip_broken(resource.parse))
            self._watch = ListWatch(
                connection, follow_bare, lambda found: take(found.values()), settings
            )
        self.run = self._watch.run
        self.require = self._watch.require

    @property
    def unserved(self) -> bool:
        """Whether the cluster does not know the kind."""
        return self._watch.unserved

    @property
    def tried(self) -> bool:
        """Whether they were loaded, or could not be at first."""
        return self._watch.tried

    def with_status(self) -> Mapping[str, ObjectWithStatus[T]]:
        """Return all by `namespace/name`; none where statuses are not kept, or nobody serves it.

        Raises:
            NotSyncedError: they have not been loaded, or the watch has been down too long.
        """
        if self._with_status is None or self.unserved:
            return {}
        self.require()
        return self._with_status.objects

    def _take_with_status(self, found: Mapping[str, ObjectWithStatus[T]]) -> None:
        self._take([each.value for each in found.values() if each.value is not None])

    def _read(self, raw: msgspec.Raw) -> ObjectWithStatus[T]:
        status, meta = _read_head(self._what, raw)
        value, problem = None, ""
        try:
            value = self._parse(raw)
        except InvalidObjectError as error:
            problem = str(error)
            _log.error("left out", problem=problem)
        head = StatusHead(meta.namespace, meta.name, meta.uid, meta.generation, status, problem)
        return ObjectWithStatus(head, value)


def _read_head(what: str, raw: msgspec.Raw) -> tuple[ApprovalStatus | None, _Meta]:
    """Read what is not `spec`; a status that cannot be read counts as none."""
    try:
        head = msgspec.json.decode(raw, type=_Head)
    except DECODE_ERRORS:
        try:
            return None, msgspec.json.decode(raw, type=_BareHead).metadata
        except DECODE_ERRORS as error:
            raise decode_error(what, error) from error
    return head.status, head.metadata
