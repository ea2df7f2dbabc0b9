"""A watch of what few reviews need: the gate is ready without it, and leaves out what is broken."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Generic, TypeVar

from kube.client.settings import LiveSettings
from kube.watch.listwatch import ListWatch, Resource, skip_broken

if TYPE_CHECKING:  # It imports aiohttp and kubernetes: not for a folder's sake.
    from kube.client.connection import Connection

T = TypeVar("T")


class OptionalWatch(Generic[T]):
    """Objects of one kind in a real cluster, kept by a watch; a broken one is left out, loudly."""

    def __init__(
        self,
        connection: "Connection",
        settings: LiveSettings,
        resource: Resource[T],
        on_change: Callable[[Mapping[str, T]], None] = lambda _: None,
    ) -> None:
        """Watch `resource`; `on_change` is called as `ListWatch` does."""
        sound = dataclasses.replace(resource, parse=skip_broken(resource.parse))
        self._watch = ListWatch(connection, sound, on_change, settings)

    @property
    def tried(self) -> bool:
        """Whether they were loaded, or could not be at first."""
        return self._watch.tried

    async def run(self) -> None:
        """Keep them until cancelled."""
        await self._watch.run()
