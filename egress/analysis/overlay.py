"""A cluster's allowlists once those of files are applied or deleted. Pure."""

from dataclasses import dataclass, replace

from core.base.errors import SettingsError
from core.decision.namespaces import Namespace
from core.egress.allowlists import EgressAllowlist, EgressDestinations
from kube.egress.snapshot import EgressSnapshot


@dataclass(frozen=True)
class FileIntents:
    """What files hold that says something of egress."""

    allowlists: tuple[EgressAllowlist, ...] = ()
    sets: tuple[EgressDestinations, ...] = ()
    namespaces: tuple[Namespace, ...] = ()
    broken: tuple[str, ...] = ()
    """What could not be read, and is left out; for people."""

    @property
    def within(self) -> frozenset[str] | None:
        """The namespaces that they are about; None where that cannot be known."""
        if self.sets or self.namespaces:
            return None
        return frozenset(each.meta.namespace for each in self.allowlists)


def overlay_intents(snapshot: EgressSnapshot, intents: FileIntents) -> EgressSnapshot:
    """Return a cluster as it is once files are applied; what they do not change stays as stored."""
    allowlists = dict(snapshot.allowlists)
    for each in intents.allowlists:
        stored = allowlists.get(each.key)
        if stored is None or stored.approvable.digest != each.approvable.digest:
            allowlists[each.key] = each
    sets = dict(snapshot.sets)
    for one in intents.sets:
        found = sets.get(one.meta.name)
        if found is None or found.approvable.digest != one.approvable.digest:
            sets[one.meta.name] = one
    namespaces = {**snapshot.namespaces, **{each.name: each for each in intents.namespaces}}
    return replace(snapshot, allowlists=allowlists, sets=sets, namespaces=namespaces)


def remove_intents(snapshot: EgressSnapshot, intents: FileIntents) -> EgressSnapshot:
    """Return a cluster as it is once the objects of files are deleted.

    Raises:
        SettingsError: they hold a Namespace.
    """
    if intents.namespaces:
        name = intents.namespaces[0].name
        raise SettingsError(f"Namespace {name}: to delete it ends its Pods: leave it out")
    gone = {each.key for each in intents.allowlists}
    sets = {each.meta.name for each in intents.sets}
    return replace(
        snapshot,
        allowlists={key: each for key, each in snapshot.allowlists.items() if key not in gone},
        sets={key: each for key, each in snapshot.sets.items() if key not in sets},
    )


def changed_namespaces(before: EgressSnapshot, after: EgressSnapshot) -> frozenset[str]:
    """Return the namespaces in which two states of a cluster may differ."""
    found: set[str] = set()
    sets = {name for name in before.sets.keys() | after.sets.keys() if _differ(name, before, after)}
    for snapshot, other in ((before, after), (after, before)):
        for key, each in snapshot.allowlists.items():
            refers = {entry.destinations.name for entry in each.spec.to if entry.destinations}
            if other.allowlists.get(key) is not each or refers & sets:
                found.add(each.meta.namespace)
        for name, namespace in snapshot.namespaces.items():
            if other.namespaces.get(name) != namespace:
                found.add(name)
    return frozenset(found)


def _differ(name: str, before: EgressSnapshot, after: EgressSnapshot) -> bool:
    return before.sets.get(name) is not after.sets.get(name)
