"""What the policies of a namespace depend on beside its own objects. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from core.egress.allowlists import EgressAllowlist, EgressDestinations
from core.egress.destinations import Destination
from core.egress.dns_names import is_wildcard

Right = tuple[str, str, str]
"""Namespace, service account and set: whether the one may `use` the other there."""

ServiceKey = tuple[str, str]
"""Namespace and name."""


@dataclass(frozen=True)
class References:
    """What allowlists of one namespace name."""

    sets: frozenset[str] = frozenset()
    """Whether there is such a set or not."""
    services: frozenset[ServiceKey] = frozenset()
    names: frozenset[str] = frozenset()
    """DNS names that can be resolved: no wildcards."""
    rights: frozenset[Right] = frozenset()


NOTHING = References()


def references_of(
    allowlists: Iterable[EgressAllowlist], sets: Mapping[str, EgressDestinations]
) -> References:
    """Give what allowlists name, themselves and through the sets that they refer to."""
    services: set[ServiceKey] = set()
    names: set[str] = set()
    rights: set[Right] = set()
    for allowlist in allowlists:
        namespace = allowlist.meta.namespace
        for entry in _entries(allowlist.spec.to, sets):
            if entry.destinations is not None:
                used = entry.destinations.name
                rights |= {(namespace, each, used) for each in allowlist.spec.service_accounts}
            elif entry.service is not None:
                services.add((entry.service.namespace or namespace, entry.service.name))
            elif entry.dns_name is not None and not is_wildcard(entry.dns_name):
                names.add(entry.dns_name)
    return References(
        frozenset(name for _, _, name in rights),
        frozenset(services),
        frozenset(names),
        frozenset(rights),
    )


def _entries(
    entries: Iterable[Destination], sets: Mapping[str, EgressDestinations]
) -> Iterator[Destination]:
    for entry in entries:
        yield entry
        if entry.destinations is not None and entry.destinations.name in sets:
            yield from sets[entry.destinations.name].spec.to
