"""Reads the profile that is noted where a Pod comes from, if it may demand a sandbox.

Of a Pod that somebody submits that is part of tracing who asked for it
(`admission.requester.facts`). Of one that runs, or is entered, nothing else is believed of the note
(docs/adr/0013, 0028).
"""

from dataclasses import dataclass
from typing import Final

import msgspec

from admission.model.facts import Facts
from admission.requester.owner_chain import trace
from core.cluster import Cluster
from core.decision.request import Request
from core.kubernetes.pod import ObjectMeta, OwnerReference
from core.kubernetes.requester_notes import OwnerObject, controller_reference, read_notes
from core.kubernetes.workload_kinds import WORKLOADS, GroupKind
from core.sandbox.decision import SandboxMode
from identity.profile_subjects import Controllers

_POD: Final = ("", "Pod")
_UNNOTED: Final = frozenset({("", "PodTemplate")})
"""Kinds of the table that nothing is made for by a controller: no way leads to them."""

_with = msgspec.structs.replace


@dataclass(frozen=True)
class Demanding:
    """Knows where Pods come from."""

    cluster: Cluster
    controllers: Controllers

    async def of_running(
        self, request: Request, metadata: ObjectMeta | None, facts: Facts
    ) -> Facts:
        """Add the profile noted where a Pod that runs says it comes from; None: it does not run.

        A workload's Pods stand side by side in the sweep's list: they share what is remembered.

        Raises:
            OwnerUnknownError: the cluster did not say who owns it.
        """
        if metadata is None or not _may_demand(facts):
            return facts
        return await self._told(request, controller_reference(metadata.owner_references), facts)

    async def of_entered(self, request: Request, metadata: ObjectMeta, facts: Facts) -> Facts:
        """Add the profile noted on the Pod that is entered, or where it says it comes from.

        Else whoever has a right to another profile would enter what the sweep says must be in a
        sandbox.

        Raises:
            OwnerUnknownError: the cluster did not say who owns it.
        """
        if not _may_demand(facts):
            return facts
        if not metadata.owner_references:
            return _with(facts, told=read_notes(metadata.annotations).profile)
        return await self._told(request, controller_reference(metadata.owner_references), facts)

    async def _told(self, request: Request, owner: OwnerReference | None, facts: Facts) -> Facts:
        if owner is None or not self.controllers.follows(owner):
            return facts
        follows, place = self.controllers.follows, request.namespace
        origin = await trace(self.cluster, place, owner, follows=follows, trusts=trusts)
        return _with(facts, told=origin.notes.profile)


def _may_demand(facts: Facts) -> bool:
    """Say whether a noted profile may demand a sandbox that the namespace does not."""
    strictest = facts.namespace is not None and facts.namespace.sandbox is SandboxMode.REQUIRED
    return bool(facts.profiles.sandboxes) and not strictest


def trusts(owner: OwnerObject) -> bool:
    """Say whether notes on objects of an owner's kind are the gate's: its webhook sees them."""
    return is_noted((owner.group, owner.kind))


def is_noted(kind: GroupKind) -> bool:
    """Say whether objects of a kind carry notes."""
    return kind == _POD or (kind in WORKLOADS and kind not in _UNNOTED)
