"""The paths by which the Pods of a request reach model weights: volumes, sign-ins, network.

It reads memory: the stores, volumes of claims, and a service account only where a Pod has a token
for Entra ID. Where there is no WeightStore it costs one look.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final

import msgspec

from admission.model.judged_object import Part, Reading
from admission.objects.sign_ins import SignIns
from core.base import names
from core.base.errors import NotSyncedError
from core.cluster import Cluster
from core.decision.other_objects import path_in_pod
from core.decision.request import Request
from core.egress.pod_labels import workload_label
from core.kubernetes.blob_volumes import BlobMount
from core.kubernetes.persistent_volumes import PersistentVolume
from core.kubernetes.pod import Pod
from core.weights.access_paths import HIDDEN_CLIENT, AccessPath, WeightStoreSet
from core.weights.egress_openings import EVERY_STORE
from core.weights.pod_mounts import volume_mounts
from core.weights.stores import WeightStore
from identity.risk.workload_identity import signs_in

MOST_WAYS: Final = 64
"""Ways of one object that are told apart by their containers and hosts; of what comes after, a
store is one way, which takes a grant for all of it."""

MOST_LOOKED_AT: Final = 10_000
"""Ways of one object that are looked at; one that has more is taken to reach all stores."""


@dataclass(frozen=True)
class AccountPath:
    """One way, and the service account of the Pod that has it."""

    way: AccessPath
    account: str


@dataclass(frozen=True)
class AccessPaths:
    """Finds the paths by which an object's Pods reach model weights."""

    cluster: Cluster

    def of(
        self, request: Request, reading: Reading, stores: WeightStoreSet
    ) -> tuple[AccountPath, ...]:
        """Return the ways of a request's Pods, or of the token that it asks for; each once.

        Raises:
            NotSyncedError: something that must be known is not; or a Pod may reach a store that
                cannot be read.
            InvalidObjectError: a volume does not have its shape.
        """
        found: dict[tuple[str, str, str, str], AccountPath] = {}
        for count, each in enumerate(self._all(request, reading, stores)):
            one, way = each, each.way
            if count == MOST_LOOKED_AT:
                return tuple(AccountPath(way, one.account) for way in _any_of(stores, way.path))
            key = (way.store.name, f"{way.by}{way.public}", way.container, one.account)
            if key not in found and len(found) >= MOST_WAYS:
                key = (way.store.name, f"{way.by}{bool(way.public)}", "", one.account)
                way = msgspec.structs.replace(way, container="")
                one = AccountPath(way, one.account)
            known = found.setdefault(key, one)
            if known is not one and not known.way.rights >= way.rights:
                rights = known.way.rights | way.rights
                found[key] = AccountPath(
                    msgspec.structs.replace(known.way, rights=rights), one.account
                )
        return tuple(found.values())

    def _all(
        self, request: Request, reading: Reading, stores: WeightStoreSet
    ) -> Iterator[AccountPath]:
        if not reading.pods:
            for shown in self._signing_in.of(request, reading):
                _require_readable(stores)
                for way in stores.signing_in(shown.client_id, shown.path):
                    yield AccountPath(way, request.name)
            return
        for part, pod in zip(reading.parts, reading.pods, strict=True):
            account = pod.spec.account
            ways = (
                *self._volumes(request, pod, stores),
                *self._signs_in(request, pod, stores),
                *self._connects(request.namespace, account, _workload(request, pod), stores),
            )
            for way in ways:
                path = _placed(way.path, part, reading)
                yield AccountPath(msgspec.structs.replace(way, path=path), account)

    def _volumes(self, request: Request, pod: Pod, stores: WeightStoreSet) -> Iterator[AccessPath]:
        if not pod.spec.volumes:
            return
        mounts = volume_mounts(pod, partial(self._claimed, request.namespace))
        if mounts:
            _require_readable(stores)
            yield from stores.mounting(mounts)
            yield from _of_mounting_identities(mounts, stores)

    def _signs_in(self, request: Request, pod: Pod, stores: WeightStoreSet) -> Iterator[AccessPath]:
        """Yield the ways of what a Pod signs in as.

        A program may name any client id that is federated with its service account: one that a
        grant of the namespace names reaches that grant's store, whatever it shows.
        """
        if not signs_in(pod):
            return
        _require_readable(stores)
        path, seen = "", set[str]()
        for each in self._signing_in.of_pod(request.namespace, pod):
            path = path or each.path
            for way in stores.signing_in(each.client_id, each.path):
                seen.add(way.store.name)
                yield way
        account = pod.spec.account
        for grant in self.cluster.weights.grants(request.namespace) if request.namespace else ():
            if grant.spec.store not in seen and account in (grant.spec.service_accounts or ()):
                seen.add(grant.spec.store)
                hidden = stores.signing_in(HIDDEN_CLIENT, path)
                yield from (way for way in hidden if way.store.name == grant.spec.store)

    def _connects(
        self, namespace: str, account: str, workload: str, stores: WeightStoreSet
    ) -> Iterator[AccessPath]:
        """Yield the ways of what allowlists and BreakGlasses open.

        A namespace that is left open has none.
        """
        for one in self.cluster.weights.openings(namespace) if namespace else ():
            for store in _led_to(one.store, stores) if one.is_of(account, workload) else ():
                public = one.to if one.public else ""
                path = "spec.serviceAccountName"
                yield AccessPath(store=store, by="network", shown=one.to, path=path, public=public)

    def _claimed(self, namespace: str, name: str, names: str) -> Iterable[PersistentVolume]:
        """Return the volumes of blobs of a claim, and one that it will name."""
        if not namespace:
            return ()
        volume = self.cluster.volume(names) if names else None
        taken = (volume,) if volume and volume.claim != f"{namespace}/{name}" else ()
        return (*self.cluster.blob_volumes_of(f"{namespace}/{name}"), *taken)

    @property
    def _signing_in(self) -> SignIns:
        return SignIns(self.cluster)


def _workload(request: Request, pod: Pod) -> str:
    """Return the workload of an object's Pods as the gate's label says it; empty if not known."""
    if request.kind.kind == "Pod":
        return (pod.metadata.labels or {}).get(names.EGRESS_WORKLOAD_LABEL, "")
    return workload_label(request.kind.kind, request.name)


def _of_mounting_identities(
    mounts: Iterable[BlobMount], stores: WeightStoreSet
) -> Iterator[AccessPath]:
    """Yield the ways of identities that volumes are mounted as, whatever account they name."""
    for mount in mounts:
        if mount.client_id and mount.certain:
            yield from stores.signing_in(mount.client_id, mount.path)


def _led_to(name: str, stores: WeightStoreSet) -> tuple[WeightStore, ...]:
    """Return the stores that an opening leads to.

    Raises:
        NotSyncedError: it leads to all of them, and one cannot be read.
    """
    if name == EVERY_STORE:
        _require_readable(stores)
        return stores.all
    store = stores.named(name)
    return (store,) if store is not None else ()


def _any_of(stores: WeightStoreSet, path: str) -> Iterator[AccessPath]:
    """Yield a way to all of each store."""
    for store in stores.all:
        yield AccessPath(store=store, by="volume", shown="", path=path)


def _require_readable(stores: WeightStoreSet) -> None:
    """Say that nobody knows what is reached, where a store cannot be read.

    Raises:
        NotSyncedError: one cannot be.
    """
    if stores.broken:
        named = ", ".join(stores.broken)
        message = f"WeightStore {named} cannot be read, and this may reach it: correct the store"
        raise NotSyncedError(message)


def _placed(path: str, part: Part, reading: Reading) -> str:
    path = part.template.place(path) if part.template else path
    return path_in_pod(path, reading.entered) if reading.entered else path
