"""Watches of what few reviews need: the gate is ready without, and leaves out what is broken."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

import msgspec
import structlog

from core.base.errors import InvalidObjectError
from kube.client.connection import Connection
from kube.client.settings import LiveSettings
from kube.watch.listwatch import ListWatch, Resource

_log = structlog.get_logger(__name__)

T = TypeVar("T")


class Watched(Generic[T]):
    """Objects of one kind in a real cluster, kept by a watch; a broken one is left out, loudly."""

    def __init__(
        self,
        connection: Connection,
        settings: LiveSettings,
        resource: Resource[T],
        on_change: Callable[[Mapping[str, T]], None] = lambda _: None,
    ) -> None:
        """Watch `resource`; `on_change` is called as `ListWatch` does."""
        sound = dataclasses.replace(resource, parse=leaving_out(resource.parse))
        self._watch = ListWatch(connection, sound, on_change, settings)

    @property
    def tried(self) -> bool:
        """Whether they were loaded, or could not be at first."""
        return self._watch.tried

    async def run(self) -> None:
        """Keep them until cancelled."""
        await self._watch.run()


def leaving_out(parse: Callable[[msgspec.Raw], T | None]) -> Callable[[msgspec.Raw], T | None]:
    """Read so that what is broken is left out, loudly, as what `parse` gives None for is."""

    def read(raw: msgspec.Raw) -> T | None:
        try:
            return parse(raw)
        except InvalidObjectError as error:
            _log.error("left out", problem=str(error))
            return None

    return read
