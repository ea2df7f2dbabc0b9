"""Pages and changes of one kind, for a caller who keeps what it needs and up to which version.

Unlike `kube.watch.listwatch` nothing is kept here, and a caller can go on after a restart where it
was: by a list of exactly that version, while etcd has it (kube-apiserver compacts every five
minutes), and a watch from there. The protocol:
https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-versions
"""

import random
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final, TypeVar

import msgspec

from core.base.errors import ClusterError
from kube.client.connection import Connection
from kube.client.settings import LiveSettings
from kube.watch.protocol import Event, List, Object, Status, UnreadableError, decode, find_rollback

DELETED: Final = "DELETED"

_D = TypeVar("_D", List, Object, Event, Status)

_CHANGES: Final = frozenset({"ADDED", "MODIFIED", DELETED})
_BOOKMARK: Final = "BOOKMARK"
_LOST: Final = frozenset(
    {
        HTTPStatus.BAD_REQUEST,
        HTTPStatus.GONE,
        HTTPStatus.INTERNAL_SERVER_ERROR,
        HTTPStatus.GATEWAY_TIMEOUT,
    }
)
"""Of a list of an exact version: compacted, unreadable, or one that is yet to come (504), as after
etcd was restored from a backup."""


@dataclass(frozen=True, slots=True)
class ListPage:
    """One page of a list."""

    items: list[msgspec.Raw]
    version: str
    """resourceVersion of the whole list."""


@dataclass(frozen=True, slots=True)
class Change:
    """One event of a watch."""

    deleted: bool
    object: msgspec.Raw
    """As it is, or last was; in a bookmark little of it."""
    version: str
    """Once this is taken in, all up to here is."""
    bookmark: bool = False


def is_lost(error: ClusterError) -> bool:
    """Return whether an error means that an exact version can be had no more."""
    return error.status in _LOST


class ChangeStream:
    """The objects of a collection, as they come."""

    def __init__(self, connection: Connection, path: str, settings: LiveSettings) -> None:
        self._connection = connection
        self._path = path
        self._settings = settings

    async def pages(self, version: str = "") -> AsyncIterator[ListPage]:
        """Yield the objects as they are, or as they were at a version, page by page.

        Raises:
            ClusterError: kube-apiserver does not answer, refuses, or has forgotten the version.
        """
        parameters = {"limit": str(self._settings.page_size)}
        first = {"resourceVersion": version, "resourceVersionMatch": "Exact"} if version else {}
        timeout_s = self._settings.request_timeout_s
        while True:
            body = await self._connection.get(self._path, timeout_s, parameters | first)
            page = self._decoded(body, List)
            yield ListPage(page.items or [], page.metadata.resource_version)
            if not page.metadata.continue_:
                return
            parameters["continue"], first = page.metadata.continue_, {}

    @asynccontextmanager
    async def watch(self, version: str) -> AsyncIterator[AsyncIterator[list[Change]]]:
        """Yield what changes after a version, as many at once as have come, for about a minute.

        Raises:
            ClusterError: as `pages`; with the status 410, what happened since is not known.
        """
        settings = self._settings
        now = await find_rollback(self._connection, self._path, version, settings.request_timeout_s)
        if now:
            what = f"{self._path} is at {now} and was at {version}: was etcd restored?"
            raise ClusterError(what, HTTPStatus.GONE)
        seconds = random.uniform(settings.watch_min_s, settings.watch_max_s)  # noqa: S311 -- spreads load
        parameters = {
            "watch": "1",
            "resourceVersion": version,
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(int(seconds)),
        }
        async with (
            self._connection.stream(
                self._path,
                parameters,
                answer_s=settings.request_timeout_s,
                silence_s=settings.max_silence_s,
            ) as batches,
            aclosing(self._changes(batches)) as changes,
        ):
            yield changes

    async def _changes(self, batches: AsyncIterator[list[bytes]]) -> AsyncGenerator[list[Change]]:
        async for lines in batches:
            yield [self._change(line) for line in lines if line]

    def _change(self, line: bytes) -> Change:
        event = self._decoded(line, Event)
        if event.type == "ERROR":
            status = self._decoded(event.object, Status)
            raise ClusterError(f"watch ended: {status.code} {status.message}", status.code or 500)
        version = self._decoded(event.object, Object).metadata.resource_version
        if not version or event.type not in _CHANGES | {_BOOKMARK}:
            raise ClusterError(f"watch of {self._path}: an event {event.type!r} cannot be read")
        return Change(event.type == DELETED, event.object, version, event.type == _BOOKMARK)

    def _decoded(self, body: bytes | msgspec.Raw, kind: type[_D]) -> _D:
        try:
            return decode(body, kind)
        except UnreadableError as error:
            raise ClusterError(f"{self._path}: {error}") from error
