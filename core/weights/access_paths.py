"""The access paths by which a Pod reaches model weights: what it can do. Pure.

A path is an identity that opens a WeightStore, a volume of its account, or an opening to its
private endpoint. Names in a container's environment are none: a program may use others
(docs/adr/0039).
"""

import ipaddress
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, Literal

import msgspec

from core.base.networks import any_holds, single_address_network
from core.kubernetes.blob_volumes import BlobMount
from core.weights.stores import Right, WeightStore

HIDDEN_CLIENT: Final = ""
"""Stands for a client id that a Pod does not show."""

EVERYWHERE: Final = "everywhere by BreakGlass"
"""Before the name of the one that opens every connection, where an address would stand."""

_READS: Final[frozenset[Right]] = frozenset({"read"})
_WRITES: Final[frozenset[Right]] = frozenset({"read", "write"})
_EVERYTHING: Final[frozenset[Right]] = frozenset({"read", "write", "delete"})


class AccessPath(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """One way to one store."""

    store: WeightStore
    by: Literal["identity", "volume", "network"]
    shown: str
    """Client id, `account/container` or address; empty where it is hidden."""
    path: str
    """The field that shows it, from the object's root."""
    container: str = ""
    """Empty for all of the store."""
    rights: frozenset[Right] = _EVERYTHING
    """What it opens: a grant that gives one of them covers it."""
    key: bool = False
    """Whether it opens the store with a key or a SAS."""
    public: str = ""
    """The host or address by which it goes around the private endpoints; empty where it does not,
    or where the store has none."""


class UngrantedPath(msgspec.Struct, frozen=True, gc=False):
    """A way that no live grant covers, and why those of its store do not."""

    way: AccessPath
    account: str
    """The service account of the Pod that has it."""
    reasons: tuple[tuple[str, str], ...] = ()
    """Names of grants, and what is wrong with each."""


class WeightStoreSet:
    """All WeightStores of a cluster: one immutable revision."""

    def __init__(self, stores: Iterable[WeightStore] = (), broken: Iterable[str] = ()) -> None:
        """Take those that were read, and the names of those that cannot be."""
        self.all = tuple(sorted(stores, key=lambda one: one.name))
        self.broken = tuple(sorted(broken))
        """Written by a newer release, or past the CRD: what might reach them is not known."""
        by_client: dict[str, list[WeightStore]] = {}
        for store in self.all:
            for client in store.client_ids:
                by_client.setdefault(client, []).append(store)
        self._by_client: Mapping[str, list[WeightStore]] = by_client

    def __bool__(self) -> bool:
        """Return whether there are any."""
        return bool(self.all or self.broken)

    def named(self, name: str) -> WeightStore | None:
        """Return one by its name."""
        return next((one for one in self.all if one.name == name), None)

    def signing_in(self, client: str, path: str) -> Iterator[AccessPath]:
        """Yield the ways of a client id, in lower case; one that is hidden may be any."""
        found = self._by_client.get(client, ())
        if client == HIDDEN_CLIENT:
            found = [store for store in self.all if store.client_ids]
        for store in found:
            rights = frozenset(
                right
                for one in store.spec.identities or ()
                if client in {HIDDEN_CLIENT, one.client_id}
                for right in one.rights
            )
            yield AccessPath(store=store, by="identity", shown=client, path=path, rights=rights)

    def mounting(self, mounts: Iterable[BlobMount]) -> Iterator[AccessPath]:
        """Yield the ways of volumes; what only hints at a mount is none."""
        for mount in mounts:
            for store in self.all:
                if _mounts(mount, store):
                    yield AccessPath(
                        store=store,
                        by="volume",
                        shown=mount.place,
                        path=mount.path,
                        container=mount.container,
                        rights=_READS if mount.read_only else _WRITES,
                        key=mount.key,
                        public=_around(mount.server, store),
                    )


def _mounts(mount: BlobMount, store: WeightStore) -> bool:
    """Return whether a volume shows a store: by its account, or by the address of its endpoint.

    A container of its account that holds no weights is none.
    """
    if mount.container and not any(one.name == mount.container for one in store.spec.containers):
        return False
    if mount.account == store.spec.account:
        return True
    if not mount.account and mount.certain:
        return True
    return _is_at(mount.server, store) is True


def _around(server: str, store: WeightStore) -> str:
    """Return the server by which a volume goes past the private endpoints of a store, if it does.

    The account's own names lead to a private endpoint where the network's DNS says so.
    """
    if not server or not store.endpoints or _is_at(server, store) is True:
        return ""
    return "" if server in _names_of(store) else server


def _names_of(store: WeightStore) -> frozenset[str]:
    account, suffix = store.spec.account, store.spec.endpoint_suffix
    return frozenset(
        f"{account}.{middle}{service}.{suffix}"
        for middle in ("", "privatelink.")
        for service in ("blob", "dfs")
    )


def _is_at(server: str, store: WeightStore) -> bool | None:
    """Return whether an address is one of the store's endpoints; None for what is no address."""
    try:
        address = ipaddress.ip_address(server)
    except ValueError:
        return None
    return any_holds(store.endpoints, single_address_network(address))
