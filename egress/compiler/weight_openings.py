"""Which openings of a namespace lead to model weights. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from core.approvals.break_glass_egress import BreakGlassOpening
from core.base.networks import any_holds, holds, overlap
from core.egress.allowlists import EgressAllowlist, EgressDestinations
from core.egress.enrolment import Closure
from core.weights.access_paths import EVERYWHERE, WeightStoreSet
from core.weights.egress_openings import EVERY_STORE, WeightOpening
from core.weights.stores import WeightStore
from egress.model.descriptions import entry_in
from egress.model.openings import Addresses, CompiledAllowlists, Name, Opening

_STORAGE: Final = "storage"
"""How the service tags begin that hold all accounts' public addresses."""


def openings_to_weights(
    meaning: CompiledAllowlists,
    allowlists: Mapping[str, EgressAllowlist],
    sets: Mapping[str, EgressDestinations],
    stores: WeightStoreSet,
) -> tuple[WeightOpening, ...]:
    """Return the openings of a namespace that lead to a store, by service account."""
    found: set[WeightOpening] = set()
    for opening in meaning.openings:
        allowlist = allowlists.get(opening.allowlist)
        if allowlist is None:
            continue
        tag = entry_in(opening, allowlist, sets).service_tag or ""
        for store in stores.all:
            for to, public in _ways(opening, store, tag):
                for account in allowlist.spec.service_accounts:
                    found.add(WeightOpening(account, store.name, to, opening.allowlist, public))
    return tuple(sorted(found))


def glass_to_weights(
    opened: Iterable[BreakGlassOpening], closure: Closure
) -> tuple[WeightOpening, ...]:
    """Return what BreakGlasses open of what is closed: every store, in one entry for each.

    All namespaces share one ConfigMap of 1 MiB: an entry for each store would fill it. That it may
    be by public addresses too is not said: no grant covers that, and two people have opened every
    address.
    """
    return tuple(
        WeightOpening(
            account="",
            store=EVERY_STORE,
            to=f"{EVERYWHERE} {each.name}",
            allowlist="",
            break_glass=each.name,
            workloads=workloads,
        )
        for each in sorted(opened, key=lambda one: one.name)
        if (workloads := _opened_workloads(each, closure)) is not None
    )


def _opened_workloads(opened: BreakGlassOpening, closure: Closure) -> tuple[str, ...] | None:
    """Return whose Pods it opens: none of them for all Pods, None for nobody's."""
    if closure.is_whole:
        return opened.workloads
    if not opened.workloads:
        return closure.workloads or None
    return tuple(each for each in opened.workloads if each in closure.workloads) or None


def _ways(opening: Opening, store: WeightStore, tag: str) -> Iterator[tuple[str, bool]]:
    if tag.lower().startswith(_STORAGE) and store.endpoints:
        yield tag, True
    peer = opening.peer
    if isinstance(peer, Addresses):
        for block in peer.blocks:
            for endpoint in store.endpoints:
                if overlap(block.network, endpoint) and not any_holds(block.excepts, endpoint):
                    yield str(endpoint), False
    elif isinstance(peer, Name):
        yield from _by_name(peer, store)


def _by_name(peer: Name, store: WeightStore) -> Iterator[tuple[str, bool]]:
    for endpoint in store.endpoints:
        if any(holds(endpoint, each) for each in peer.addresses):
            yield str(endpoint), False
    if not _is_of(peer.pattern, store):
        return
    yield peer.pattern, False
    away = [each for each in peer.addresses if not any_holds(store.endpoints, each)]
    if store.endpoints and away:
        yield peer.pattern, True


def _is_of(pattern: str, store: WeightStore) -> bool:
    """Return whether a pattern has a name of the account's blobs."""
    middle = store.host.partition(".")[2]
    account = store.spec.account
    names = {store.host, f"{account}.privatelink.{middle}"}
    if pattern == "*":
        return True
    if pattern.startswith("*."):
        return any(name.endswith(pattern[1:]) for name in names)
    return pattern in names
