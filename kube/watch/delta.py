"""A watch that says what has changed since it was last asked."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Generic, TypeVar

from kube.client.settings import LiveSettings
from kube.watch.listwatch import ListWatch, Resource

if TYPE_CHECKING:  # It imports aiohttp and kubernetes: not for a folder's sake.
    from kube.client.connection import Connection

T = TypeVar("T")


class DeltaWatch(Generic[T]):
    """The objects of one kind. To ask costs nothing where nothing has happened.

    A cluster that does not serve an optional kind has none of it.
    """

    def __init__(
        self, connection: "Connection", settings: LiveSettings, resource: Resource[T]
    ) -> None:
        self._watch = ListWatch(connection, resource, self._take, settings)
        self._optional = resource.optional
        self._before: Mapping[str, T] = {}
        self._changed = False

    @property
    def objects(self) -> Mapping[str, T]:
        """All of them, by `namespace/name`. Call `require` first."""
        return self._watch.objects

    @property
    def seen(self) -> int:
        """The resourceVersion up to which all is known; 0 where there is none."""
        version = self._watch.version
        return int(version) if version.isdecimal() else 0

    def require(self) -> None:
        """Raise NotSyncedError unless it can be relied on."""
        if not (self._optional and self._watch.unserved):
            self._watch.require()

    async def run(self) -> None:
        """Keep them until cancelled."""
        await self._watch.run()

    def changes(self) -> list[tuple[str, T | None, T | None]]:
        """Return what has changed since this was last called: the key, what was, and what is."""
        if not self._changed:
            return []
        self._changed = False
        before, now = self._before, dict(self._watch.objects)
        self._before = now
        found: list[tuple[str, T | None, T | None]] = [
            (key, each, None) for key, each in before.items() if key not in now
        ]
        for key, each in now.items():
            was = before.get(key)
            if was is not each and was != each:
                found.append((key, was, each))
        return found

    def _take(self, _: Mapping[str, T]) -> None:
        self._changed = True
