"""Revisions of what is no object of its own, as the record of changes keeps them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from core.base.errors import NotSyncedError
from kube.approvals.recorded_objects import RecordedObject, RecordedObjects

BUNDLE = "Bundle"
RISK_TABLE = "RiskTable"


@dataclass
class WithRevisions:
    """The objects of a cluster, and the revisions that this process works by."""

    objects: RecordedObjects
    revisions: Mapping[str, Callable[[], str]]
    """By kind: gives the digest of what is in force; empty where nothing is."""
    clock: Callable[[], float]
    _seen: dict[str, RecordedObject] = field(default_factory=dict)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds that are recorded."""
        return (*self.objects.kinds, *self.revisions)

    def of(self, kind: str) -> Mapping[str, RecordedObject] | None:
        """Give those of a kind by their key; None where nobody serves it.

        Raises:
            NotSyncedError: they have not been loaded, or the watch has been down too long.
        """
        if kind not in self.revisions:
            return self.objects.of(kind)
        try:
            digest = self.revisions[kind]()
        except NotSyncedError:
            return None
        if not digest:
            return {}
        seen = self._seen.get(kind)
        if seen is None or seen.digest != digest:
            now = self.clock()
            seen = self._seen[kind] = RecordedObject(kind, "", "in-force", "", digest, now, now)
        return {seen.key: seen}
