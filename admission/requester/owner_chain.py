"""Follows owner references from what a controller made to its root, by UID.

It reads one owner for each hop, from memory or by one GET (`core.cluster.Cluster.owner`): a gang's
Pods share theirs. A reference is followed only where a controller is configured for the owner's
kind, since only then somebody is known who writes such references for a reason.
"""

from collections.abc import Callable
from typing import Final

import msgspec

from core.cluster import Cluster
from core.decision.requester_notes import NO_NOTES, OwnerObject, RequesterNotes, RootWorkload
from core.kubernetes.object_meta import OwnerReference

MOST_HOPS: Final = 8
"""From a Pod to its root. Kubernetes' own are 2 at most (CronJob, Job), AI operators' rarely 4."""

Follows = Callable[[OwnerReference], bool]
"""Whether a controller is configured for the kind of an owner."""

Trusts = Callable[[OwnerObject], bool]
"""Whether notes on objects of an owner's kind are the gate's: they pass its webhook."""


class OwnerOrigin(msgspec.Struct, frozen=True, gc=False):
    """What tracing found."""

    root: RootWorkload | None
    """None where the owner is not there, or another object has its name."""
    notes: RequesterNotes = NO_NOTES
    """The nearest note on the way: its maker's, or its root's (docs/adr/0022)."""


async def trace_owners(  # noqa: PLR0913  Where to look, from where, and what counts.
    cluster: Cluster,
    namespace: str,
    reference: OwnerReference | None,
    *,
    follows: Follows,
    trusts: Trusts,
    fresh: bool = False,
) -> OwnerOrigin:
    """Follow an owner to its root; `fresh` believes nothing that is remembered.

    An owner further up that is not there ends the way below it: what it owned is being orphaned
    or removed. A way in a circle, or longer than MOST_HOPS, ends where it is.

    Raises:
        OwnerUnknownError: the cluster did not say.
    """
    last: OwnerObject | None = None
    notes, seen = NO_NOTES, set[str]()
    upward: OwnerReference | None = reference
    while upward is not None and upward.uid not in seen and len(seen) < MOST_HOPS:
        seen.add(upward.uid)
        owner = await cluster.owner(namespace, upward, fresh=fresh)
        if owner is None:
            break
        last = owner
        if notes.requester is None and owner.notes.requester and trusts(owner):
            notes = owner.notes
        upward = owner.owner if owner.owner and follows(owner.owner) else None
    if last is None:
        return OwnerOrigin(None)
    own = last.notes.requester if trusts(last) else None
    root = RootWorkload(
        last.kind,
        last.name,
        last.uid,
        notes.requester,
        notes.profile,
        group=last.group,
        straight=notes.requester == own,
        grants=notes.grants,
    )
    return OwnerOrigin(root, notes)
