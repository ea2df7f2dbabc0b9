"""The objects of one kind, kept like the cluster's by a list and a watch.

The protocol: https://kubernetes.io/docs/reference/using-api/api-concepts/ (pages, watches,
bookmarks, 410 Gone); the habits are those of client-go's reflector.
"""

import asyncio
import datetime as dt
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from types import MappingProxyType
from typing import TYPE_CHECKING, Generic, TypeVar

import msgspec
import structlog

from core.base.errors import ClusterError, InvalidObjectError, NotSyncedError
from core.base.safe_text import traceback_places
from core.base.times import time_text
from kube.client.settings import LiveSettings
from kube.watch.protocol import Event, List, Object, Status, UnreadableError, decode, find_rollback

if TYPE_CHECKING:  # It imports aiohttp and kubernetes: not for a folder's sake.
    from kube.client.connection import Connection

_log = structlog.get_logger(__name__)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Resource(Generic[T]):
    """What is watched: its name for people, its path, and what is kept of each object."""

    what: str
    path: str
    parse: Callable[[msgspec.Raw], T | None]
    """Gives None of an object that is not kept."""
    fields: str = ""
    """A field selector (`metadata.name=x`); all objects of the path without one."""

    optional: bool = False
    """Whether a cluster need not serve the kind."""

    @property
    def selecting(self) -> dict[str, str]:
        """The parameters of requests that select them."""
        return {"fieldSelector": self.fields} if self.fields else {}


class ListWatch(Generic[T]):
    """Keeps the objects of one resource; run `run` as a task.

    **When it can be relied on.** An established watch is contact, for kube-apiserver sends
    all that happens, and ends it after a minute at most. So what is held is stale once there
    was no established watch for `max_staleness_s`; and a watch counts as established until
    it breaks, or until `max_silence_s` pass without a byte, when it is dropped and the time
    since its last line counts. In the worst case, a peer that vanishes without a word, a
    decision therefore rests on what was true `max_silence_s` ago.
    """

    def __init__(
        self,
        connection: "Connection",
        resource: Resource[T],
        on_change: Callable[[Mapping[str, T]], None],
        settings: LiveSettings,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Call `on_change` with all objects by name when some have changed, and once listed."""
        self._connection = connection
        self._resource = resource
        self._on_change = on_change
        self._settings = settings
        self._clock = clock
        self._objects: dict[str, T] = {}
        self._version = ""
        self._loaded = False
        self._undelivered = False
        self._established = False
        self._contact = clock()
        self._error = ""
        self.lists = 0
        """How many times the objects were listed."""
        self.unserved = False
        """Whether the cluster does not know the kind: its definition is not installed."""
        self.forbidden = False
        """Whether the cluster refused the last attempt that failed: a right is missing."""

    @property
    def objects(self) -> Mapping[str, T]:
        """The objects by name (`namespace/name` in a namespace) as of now. Call `require` first."""
        return MappingProxyType(self._objects)

    @property
    def version(self) -> str:
        """The resourceVersion up to which it has seen all that happened; empty before the list."""
        return self._version

    @property
    def problem(self) -> str:
        """Why it cannot be relied on, for a person; empty when it can."""
        error = self._error or "no answer yet"
        if not self._loaded:
            return f"watch of {self._resource.what}: first list not finished: {error}"
        age = 0.0 if self._established else self._clock() - self._contact
        if age <= self._settings.max_staleness_s:
            return ""
        since = dt.datetime.now(dt.UTC) - dt.timedelta(seconds=age)
        return (
            f"watch of {self._resource.what}: no contact with kube-apiserver since "
            f"{time_text(since.timestamp())} ({age:.0f} s): {error}; "
            "check that it runs and can be reached from here"
        )

    @property
    def tried(self) -> bool:
        """Whether it was loaded, or could not be at first: waiting longer may lead nowhere."""
        return self._loaded or bool(self._error)

    def require(self) -> None:
        """Raise NotSyncedError unless it can be relied on."""
        if problem := self.problem:
            raise NotSyncedError(problem)

    async def run(self) -> None:
        """List and watch until cancelled, waiting between attempts; never raises."""
        attempt = 0
        while True:
            began = self._clock()
            await self._attempt()
            if self._clock() - began > self._settings.backoff_cap_s:
                attempt = 0
            await asyncio.sleep(_backoff(attempt, self._settings))
            attempt += 1

    async def _attempt(self) -> None:
        log = _log.bind(watch=self._resource.what)
        try:
            if self._version:
                await self._find_restored()
            if not self._version:
                await self._list()
            await self._watch()
        except ClusterError as error:
            self._error = str(error)
            known = self.unserved
            self.unserved = error.status == HTTPStatus.NOT_FOUND
            self.forbidden = error.status == HTTPStatus.FORBIDDEN
            if error.status:
                self._version = ""
            if error.status == HTTPStatus.GONE:
                log.info("watch is too old: listing again", error=self._error)
            elif self.unserved and self._resource.optional:
                log.debug("the cluster does not serve it", error=self._error)
            elif not (known and self.unserved):
                log.warning("watch broke: trying again", error=self._error)
        except UnreadableError as error:
            self._version = ""
            self._error = str(error)
            log.error("watch is unreadable: listing again", error=self._error)  # noqa: TRY400 -- theirs, not ours: no traceback
        except Exception as error:  # noqa: BLE001 -- whatever it is, see below
            # A defect of ours must not end the watch: it is logged, and staleness shows.
            self._version = ""
            # Type and places alone: the text and the frames may hold tokens.
            self._error = f"defect: {type(error).__name__}"
            log.error("watch failed: listing again", error=self._error, at=traceback_places(error))  # noqa: TRY400 -- see above

    async def _list(self) -> None:
        objects: dict[str, T] = {}
        parameters = {**self._resource.selecting, "limit": str(self._settings.page_size)}
        timeout = self._settings.request_timeout_s
        while True:
            body = await self._connection.get(self._resource.path, timeout, parameters)
            page = decode(body, List)
            for raw in page.items or ():
                if (value := self._parse(raw)) is not None:
                    objects[decode(raw, Object).metadata.key] = value
            self._contact = self._clock()
            if not page.metadata.continue_:
                break
            parameters["continue"] = page.metadata.continue_
        self._undelivered |= not self._loaded or objects != self._objects
        self._objects = objects
        self._version = page.metadata.resource_version
        self._loaded = True
        self.unserved = False
        self.lists += 1
        self._deliver()

    async def _find_restored(self) -> None:
        """Forget the version where kube-apiserver is not as far: etcd was restored."""
        resource, timeout_s = self._resource, self._settings.request_timeout_s
        version = self._version
        now = await find_rollback(
            self._connection, resource.path, version, timeout_s, resource.selecting
        )
        if now:
            what = {"watch": resource.what, "was": version, "now": now}
            _log.warning("kube-apiserver went back: was etcd restored? listing again", **what)
            self._version = ""

    async def _watch(self) -> None:
        settings = self._settings
        seconds = random.uniform(settings.watch_min_s, settings.watch_max_s)  # noqa: S311 -- spreads load
        parameters = {
            **self._resource.selecting,
            "watch": "1",
            "resourceVersion": self._version,
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(int(seconds)),
        }
        try:
            async with self._connection.stream(
                self._resource.path,
                parameters,
                answer_s=settings.request_timeout_s,
                silence_s=settings.max_silence_s,
            ) as batches:
                self._established = True
                self._contact = self._clock()
                self._error = ""
                async for lines in batches:
                    self._contact = self._clock()
                    self._apply(lines)
        finally:
            self._end_stream()

    def _end_stream(self) -> None:
        """Count a break as contact, since the peer was there to break; but not silence."""
        if self._established and self._clock() - self._contact < self._settings.max_silence_s:
            self._contact = self._clock()
        self._established = False

    def _apply(self, lines: list[bytes]) -> None:
        try:
            for line in lines:
                if line:
                    self._take(decode(line, Event))
        finally:
            self._deliver()

    def _deliver(self) -> None:
        if self._undelivered:
            self._on_change(self.objects)
            self._undelivered = False

    def _take(self, event: Event) -> None:
        if event.type == "ERROR":
            status = decode(event.object, Status)
            raise ClusterError(f"watch ended: {status.code} {status.message}", status.code or 500)
        meta = decode(event.object, Object).metadata
        if not meta.resource_version:
            raise UnreadableError(f"event {event.type} has no metadata.resourceVersion")
        self._undelivered |= self._change(event, meta.key)
        self._version = meta.resource_version

    def _change(self, event: Event, name: str) -> bool:
        """Take in one event; say whether anything that is kept has changed."""
        if event.type == "BOOKMARK":
            return False
        if event.type not in {"ADDED", "MODIFIED", "DELETED"}:
            raise UnreadableError(f"event of unknown type {event.type!r}")
        value = None if event.type == "DELETED" else self._parse(event.object)
        if value is None:
            return self._objects.pop(name, None) is not None
        if self._objects.get(name) == value:
            return False
        self._objects[name] = value
        return True

    def _parse(self, raw: msgspec.Raw) -> T | None:
        try:
            return self._resource.parse(raw)
        except InvalidObjectError as error:
            raise UnreadableError(str(error)) from error


def _backoff(attempt: int, settings: LiveSettings) -> float:
    longest = min(settings.backoff_cap_s, settings.backoff_first_s * 2.0 ** min(attempt, 30))
    return longest * random.uniform(0.5, 1.0)  # noqa: S311 -- spreads load


def skip_broken(parse: Callable[[msgspec.Raw], T | None]) -> Callable[[msgspec.Raw], T | None]:
    """Read so that what is broken is left out, loudly, as what `parse` gives None for is."""

    def read(raw: msgspec.Raw) -> T | None:
        try:
            return parse(raw)
        except InvalidObjectError as error:
            _log.error("left out", problem=str(error))
            return None

    return read
