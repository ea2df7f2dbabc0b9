"""PersistentVolumes in memory, found by name and by the claim that has them."""

from collections.abc import Iterable, Mapping
from typing import Final

from core.storage import PersistentVolume

VOLUMES_PATH: Final = "/api/v1/persistentvolumes"

_ON_NODE: Final = "hostPath"


class Volumes:
    """The volumes of a cluster; the look-up by claim is made anew only when it is wanted."""

    def __init__(self, volumes: Iterable[PersistentVolume] = ()) -> None:
        self._by_name: Mapping[str, PersistentVolume] = {each.name: each for each in volumes}
        self._by_claim: dict[str, PersistentVolume] | None = None

    def take(self, by_name: Mapping[str, PersistentVolume]) -> None:
        """Take all volumes as they are now, by name."""
        self._by_name = by_name
        self._by_claim = None

    def named(self, name: str) -> PersistentVolume | None:
        """Give a volume by its name."""
        return self._by_name.get(name)

    def claimed(self, claim: str) -> PersistentVolume | None:
        """Give the volume on a node that a claim, `namespace/name`, has."""
        if self._by_claim is None:
            self._by_claim = {
                volume.claim: volume
                for volume in self._by_name.values()
                if volume.claim and _ON_NODE in volume.types
            }
        return self._by_claim.get(claim)
