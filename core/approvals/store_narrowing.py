"""Whether a proposed WeightStore guards less than it did. Pure.

Without this check, a writer of the kind could take a container, an identity or an address out of a
store and reach the weights unseen. Guarding more needs no approval.
"""

import hashlib
from collections.abc import Iterator

import msgspec

from core.approvals.approvals import proposal_uid
from core.base.networks import subtract
from core.people.two_person import Approvable, Person
from core.weights.stores import KIND, StoreIdentity, WeightContainer, WeightStore


def store_digest(name: str, store: WeightStore | None) -> str:
    """Digest a store as it shall be, however it is written down; None where it shall go."""
    spec = msgspec.to_builtins(store.spec) if store is not None else None
    canonical = msgspec.json.encode(
        {"kind": KIND, "name": name, "spec": spec}, order="deterministic"
    )
    return f"sha256:{hashlib.sha256(canonical).hexdigest()}"


def store_proposal(name: str, store: WeightStore | None, uid: str, author: Person) -> Approvable:
    """Return what two people must have approved.

    This very `spec`, of the store that has the UID.
    """
    return Approvable(proposal_uid(KIND, uid), store_digest(name, store), author)


def find_narrowings(old: WeightStore, new: WeightStore | None) -> list[str]:
    """Say in what a store guards less than it did; nothing where it guards as much, or more."""
    if new is None:
        return ["is removed"]
    return [
        *_of_place(old, new),
        *_of_containers(old.spec.containers, new.spec.containers),
        *_of_identities(old.spec.identities or (), new.spec.identities or ()),
        *_of_endpoints(old, new),
        *_of_size(old, new),
    ]


def _of_place(old: WeightStore, new: WeightStore) -> Iterator[str]:
    if old.spec.account != new.spec.account:
        yield f"is no longer about account {old.spec.account}"
    if old.spec.endpoint_suffix != new.spec.endpoint_suffix:
        yield f"is no longer about {old.host}"
    if old.spec.resource_id not in {None, new.spec.resource_id}:
        yield "is no longer about the resource that it named"


def _of_containers(old: list[WeightContainer], new: list[WeightContainer]) -> Iterator[str]:
    for before in old:
        now = [one for one in new if one.name == before.name]
        for prefix in before.prefixes or ("",):
            if not any(_holds(one, prefix) for one in now):
                yield f"no longer guards {before.name}/{prefix}"


def _holds(one: WeightContainer, prefix: str) -> bool:
    return not one.prefixes or any(prefix.startswith(each) for each in one.prefixes)


def _of_identities(
    old: list[StoreIdentity] | tuple[()], new: list[StoreIdentity] | tuple[()]
) -> Iterator[str]:
    for before in old:
        for field in ("client_id", "object_id"):
            ident = getattr(before, field)
            if not ident:
                continue
            now = {right for one in new if getattr(one, field) == ident for right in one.rights}
            lost = [right for right in before.rights if right not in now]
            if lost:
                yield f"no longer says that {ident} may {', '.join(lost)}"


def _of_endpoints(old: WeightStore, new: WeightStore) -> Iterator[str]:
    for network in old.endpoints:
        if subtract(network, new.endpoints):
            yield f"no longer names the private endpoint {network}"


def _of_size(old: WeightStore, new: WeightStore) -> Iterator[str]:
    if old.checkpoint_bytes and not 0 < new.checkpoint_bytes <= old.checkpoint_bytes:
        yield "counts more bytes as a full checkpoint, or none"
