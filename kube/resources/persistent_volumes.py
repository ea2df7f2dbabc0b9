"""PersistentVolumes in memory, found by name and by the claim that has them."""

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final

import msgspec

from core.kubernetes.persistent_volumes import PersistentVolume, parse_persistent_volume
from kube.client.settings import LiveSettings
from kube.watch.listwatch import ListWatch, Resource

if TYPE_CHECKING:  # It imports aiohttp and kubernetes: not for a folder's sake.
    from kube.client.connection import Connection

VOLUMES_PATH: Final = "/api/v1/persistentvolumes"

_ON_NODE: Final = "hostPath"

_MOST_GONE: Final = 1024
"""Claims kept whose volumes are gone, beside as many as there are volumes."""

_MOST_FREED: Final = 64
"""Volumes kept that were nobody's, beside as many as still are."""


class Volumes:
    """The volumes of a cluster.

    Names are kept by claim as volumes are read, and are not taken away one by one: what is found by
    them is looked at again. To look through all volumes after each event took 0.6 ms at 20,000.
    """

    def __init__(self, volumes: Iterable[PersistentVolume] = ()) -> None:
        self._names: dict[str, tuple[str, ...]] = {}
        self._free: set[str] = set()
        self._were_free = 0
        by_name = {each.name: each for each in volumes}
        for volume in by_name.values():
            self._note(volume)
        self._by_name: Mapping[str, PersistentVolume] = by_name

    def read(self, raw: bytes | msgspec.Raw) -> PersistentVolume:
        """Read a volume that comes, anew or changed.

        Raises:
            InvalidObjectError: with the field's path and what it must be.
        """
        volume = parse_persistent_volume(raw)
        self._note(volume)
        return volume

    def take(self, by_name: Mapping[str, PersistentVolume]) -> None:
        """Take all volumes as they are now, by name; each was read here."""
        self._by_name = by_name
        if len(self._free) > 2 * self._were_free + _MOST_FREED:
            # Here alone: what was read and is not taken yet must not be forgotten.
            self._free = {name for name in self._free if self._is_free(by_name.get(name))}
            self._were_free = len(self._free)
        if len(self._names) > 2 * len(by_name) + _MOST_GONE:
            self._names.clear()
            for volume in by_name.values():
                self._note(volume)

    def named(self, name: str) -> PersistentVolume | None:
        """Return a volume by its name."""
        return self._by_name.get(name)

    def node_volumes_of(self, claim: str) -> tuple[PersistentVolume, ...]:
        """Return the volumes on a node that a claim, `namespace/name`, has, by name."""
        return tuple(each for each in self._of(claim) if _ON_NODE in each.types)

    def blob_volumes_of(self, claim: str) -> tuple[PersistentVolume, ...]:
        """Return the volumes of blobs that a claim, `namespace/name`, has, by name."""
        return tuple(each for each in self._of(claim) if each.mounts)

    def shares(self, claim: str) -> bool:
        """Return whether a claim, `namespace/name`, is a file system that others mount, or may be.

        One that no volume is bound to, or kept for, may get any that is nobody's.
        """
        bound = False
        for volume in self._of(claim):
            if volume.shared:
                return True
            bound = True
        return not bound and self._any_free()

    def _any_free(self) -> bool:
        return any(self._is_free(self._by_name.get(name)) for name in self._free)

    @staticmethod
    def _is_free(volume: PersistentVolume | None) -> bool:
        return volume is not None and volume.shared and not volume.claim

    def volumes_of_namespace(self, namespace: str) -> tuple[PersistentVolume, ...]:
        """Return the volumes that claims of a namespace have: looks at all, some ms at 20,000."""
        mark = f"{namespace}/"
        return tuple(each for each in self._by_name.values() if each.claim.startswith(mark))

    def _of(self, claim: str) -> Iterator[PersistentVolume]:
        found = map(self._by_name.get, sorted(self._names.get(claim, ())))
        return (each for each in found if each and each.claim == claim)

    def _note(self, volume: PersistentVolume) -> None:
        if volume.claim:
            known = self._names.get(volume.claim, ())
            if volume.name not in known:
                self._names[volume.claim] = (*known, volume.name)
        elif volume.shared:
            self._free.add(volume.name)


class WatchedVolumes:
    """Those of a real cluster, kept by a watch."""

    def __init__(self, connection: "Connection", settings: LiveSettings) -> None:
        self._known = Volumes()
        resource = Resource("PersistentVolumes", VOLUMES_PATH, self._known.read)
        self._watch = ListWatch(connection, resource, self._known.take, settings)

    @property
    def problem(self) -> str:
        """Why they cannot be relied on, for a person; empty when they can."""
        return self._watch.problem

    async def run(self) -> None:
        """Keep them until cancelled."""
        await self._watch.run()

    def named(self, name: str) -> PersistentVolume | None:
        """Return a PersistentVolume.

        Raises:
            NotSyncedError: they have not been loaded, or the watch has been down too long.
        """
        self._watch.require()
        return self._known.named(name)

    def node_volumes_of(self, claim: str) -> tuple[PersistentVolume, ...]:
        """Return the volumes on a node that a claim, `namespace/name`, has.

        Raises:
            NotSyncedError: as `named`.
        """
        self._watch.require()
        return self._known.node_volumes_of(claim)

    def blob_volumes_of(self, claim: str) -> tuple[PersistentVolume, ...]:
        """Return the volumes of blobs that a claim, `namespace/name`, has.

        Raises:
            NotSyncedError: as `named`.
        """
        self._watch.require()
        return self._known.blob_volumes_of(claim)

    def shares(self, claim: str) -> bool:
        """Return whether a claim, `namespace/name`, is a file system that others mount, or may be.

        Raises:
            NotSyncedError: as `named`.
        """
        self._watch.require()
        return self._known.shares(claim)

    def volumes_of_namespace(self, namespace: str) -> tuple[PersistentVolume, ...]:
        """Return the volumes that claims of a namespace have.

        Raises:
            NotSyncedError: as `named`.
        """
        self._watch.require()
        return self._known.volumes_of_namespace(namespace)
