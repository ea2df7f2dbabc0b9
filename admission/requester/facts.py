"""Who asked for an object, and under which profile: noted on it, on its owners or its namespace.

Only reviews of kube-apiserver have such notes: a file has none yet. For Pods that run or are
entered the sweep trusts no more than the object shows, except for a sandbox that a noted profile
requires (docs/adr/0013, 0028).

Owner references are followed from what a controller made to its root, by UID, one owner for each
hop: from memory or by one GET (`core.cluster.Cluster.owner`), so that a gang's Pods share theirs. A
reference is followed only where a controller is configured for the owner's kind, since only then
somebody is known who writes such references for a reason.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import msgspec

from admission.model.candidates import Candidates, candidates
from admission.model.facts import Facts, NamedProfile, OriginFacts
from admission.model.judged_object import LeftAlone, Reading
from admission.objects.reader import is_debug
from core.base.errors import InvalidObjectError
from core.cluster import Cluster
from core.decision.namespaces import Namespace
from core.decision.request import Operation, Phase, Request
from core.decision.requester_notes import (
    NO_NOTES,
    OwnerObject,
    RequesterNotes,
    RootWorkload,
    controller_reference,
    kind_of_owner,
    read_notes,
)
from core.kubernetes.object_meta import ObjectMeta, OwnerReference
from core.kubernetes.pod import decode_metadata
from core.kubernetes.workload_kinds import WORKLOADS, GroupKind, may_carry
from core.sandbox.decision import SandboxMode
from identity.requester_note_rules import PROFILE_PATH, NoteChange, NotedChange
from identity.subjects import Controllers

_POD: Final = ("", "Pod")
_UNNOTED: Final = frozenset({("", "PodTemplate")})
"""Kinds of the table that nothing is made for by a controller: no way leads to them."""

_COPIED: Final = ("apps", "ReplicaSet")
_BINDING: Final = ("", "Binding")
"""Its annotations become the Pod's, unasked."""

MOST_HOPS: Final = 8
"""From a Pod to its root. Kubernetes' own are 2 at most (CronJob, Job), AI operators' rarely 4."""

Follows = Callable[[OwnerReference], bool]
"""Whether a controller is configured for the kind of an owner."""

Trusts = Callable[[OwnerObject], bool]
"""Whether notes on objects of an owner's kind are the gate's: they pass its webhook."""

_with = msgspec.structs.replace


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


def is_noted(kind: GroupKind) -> bool:
    """Return whether objects of a kind carry notes."""
    return kind == _POD or (kind in WORKLOADS and kind not in _UNNOTED)


def trusts(owner: OwnerObject) -> bool:
    """Return whether notes on objects of an owner's kind are the gate's: its webhook sees them."""
    return is_noted((owner.group, owner.kind))


@dataclass(frozen=True)
class NotedProfiles:
    """Finds the profile noted on a Pod that runs or is entered, or on its owner."""

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
            return _with(facts, noted_profile=read_notes(metadata.annotations).profile)
        return await self._told(request, controller_reference(metadata.owner_references), facts)

    async def _told(self, request: Request, owner: OwnerReference | None, facts: Facts) -> Facts:
        if owner is None or not self.controllers.follows(owner):
            return facts
        follows, place = self.controllers.follows, request.namespace
        origin = await trace_owners(self.cluster, place, owner, follows=follows, trusts=trusts)
        return _with(facts, noted_profile=origin.notes.profile)


def _may_demand(facts: Facts) -> bool:
    """Return whether a noted profile may demand a sandbox that the namespace does not."""
    strictest = facts.namespace is not None and facts.namespace.sandbox is SandboxMode.REQUIRED
    return bool(facts.profiles.sandboxes) and not strictest


class _Asked(msgspec.Struct, frozen=True, gc=False):
    """A request, and what of its object's metadata notes are decided by."""

    request: Request
    kind: GroupKind
    metadata: ObjectMeta
    owner: OwnerReference | None
    """Whom the object is made for."""
    made: bool
    """Whether the requester is configured for the kind of the object's owner."""
    judged: bool
    """Whether anything that is judged is new."""

    @property
    def new(self) -> RequesterNotes:
        """What is noted on the object."""
        return read_notes(self.metadata.annotations)


@dataclass(frozen=True)
class RequesterGatherer:
    """Gathers what a request does to notes, and the root that the object is traced to."""

    cluster: Cluster
    controllers: Controllers

    @cached_property
    def _demanding(self) -> NotedProfiles:
        return NotedProfiles(self.cluster, self.controllers)

    async def facts_of(self, request: Request, reading: Reading | LeftAlone, facts: Facts) -> Facts:
        """Add what notes say, and where the object comes from, to the facts of a request.

        Raises:
            InvalidObjectError: its metadata has not the shape that Kubernetes gives it.
            OwnerUnknownError: the cluster did not say who owns it.
        """
        kind = request.kind.group, request.kind.kind
        if not isinstance(reading, LeftAlone) and reading.entered:
            return await self._demanding.of_entered(request, reading.pods[0].metadata, facts)
        if request.phase is None:
            metadata = _metadata_of(request, reading) if request.running else None
            return await self._demanding.of_running(request, metadata, facts)
        if not is_noted(kind) and kind != _BINDING:
            return self._of_unlisted(request, kind, reading, facts)
        asked = self._asked(request, kind, reading)
        change = self._change(asked)
        made = change is not None and change.change is NotedChange.MADE
        if not (asked.made and (asked.judged or made)):
            return _with(facts, notes=change) if change else facts
        origin = await self._trace(asked)
        if change is not None:
            change = msgspec.structs.replace(change, root=origin.notes)
            if change.new.requester not in {None, origin.notes.requester}:
                # What is remembered may be older than what its maker saw.
                origin = await self._trace(asked, fresh=True)
                change = msgspec.structs.replace(change, root=origin.notes)
        return _with(facts, notes=change, origin=OriginFacts(origin.root))

    async def trace_gaps(
        self,
        request: Request,
        reading: Reading,
        facts: Facts,
        privileges: Mapping[str, int],
        tried: Candidates,
    ) -> OriginFacts | None:
        """Say what of what is needed the profile noted on the root does not cover.

        What is remembered may be older than a change of the root: before it speaks against the
        object, the root is asked for anew.

        Raises:
            OwnerUnknownError: the cluster did not say who owns it.
        """
        origin = facts.origin
        if origin is None or origin.root is None or origin.root.profile is None:
            return origin
        gaps = _gaps(origin.root.profile, facts, privileges, tried)
        if gaps:
            kind = request.kind.group, request.kind.kind
            asked = self._asked(request, kind, reading)
            root = (await self._trace(asked, fresh=True)).root
            if root is None or root.profile is None:
                return OriginFacts(root)
            return OriginFacts(root, _gaps(root.profile, facts, privileges, tried))
        return OriginFacts(origin.root, gaps)

    def _of_unlisted(
        self, request: Request, kind: GroupKind, reading: Reading | LeftAlone, facts: Facts
    ) -> Facts:
        """Note who asks on a kind that nobody listed; as nothing is traced to it, none is missed.

        The webhooks that `control` registers for such kinds fail open.
        """
        made_now = request.operation is Operation.CREATE
        if not may_carry(*kind) or (made_now and isinstance(reading, LeftAlone)):
            return facts
        change = self._of_workload(self._asked(request, kind, reading))
        if change is None or change.change is NotedChange.MADE:
            return facts
        return _with(facts, notes=msgspec.structs.replace(change, workload=False))

    def _change(self, asked: _Asked) -> NoteChange | None:
        if asked.kind == _POD:
            return self._of_pod(asked)
        if asked.kind == _BINDING:
            return _of_binding(asked)
        return self._of_workload(asked)

    def _of_pod(self, asked: _Asked) -> NoteChange | None:
        """A Pod that nothing owns is noted; every other only must not name somebody else."""
        new, request = asked.new, asked.request
        label = request.subject.label
        if request.operation is Operation.CREATE:
            if asked.made:
                return NoteChange(NotedChange.MADE, label, new) if new.requester else None
            if not asked.metadata.owner_references:
                return NoteChange(NotedChange.RENEWED, label, new, workload=False)
        if new.requester is None:
            return None
        old = NO_NOTES if request.operation is Operation.CREATE else _old(request)[0]
        return NoteChange(NotedChange.KEPT, label, new, old, workload=False)

    def _of_workload(self, asked: _Asked) -> NoteChange | None:
        """Whoever creates it or changes its templates is noted, unless its owner's controller does.

        A configured controller that changes what it did not make leaves the note: its own rights
        never count, so it cannot be who asked.
        """
        new, request = asked.new, asked.request
        label, copied = request.subject.label, asked.kind == _COPIED
        if request.operation is Operation.CREATE:
            change = NotedChange.MADE if asked.made else NotedChange.RENEWED
            return NoteChange(change, label, new, copied=copied)
        old, old_owner = _old(request)
        listed = self.controllers.is_any(request.subject.username)
        if asked.judged and not listed:
            return NoteChange(NotedChange.RENEWED, label, new, old)
        if asked.made:
            changed = new != old
            return NoteChange(NotedChange.MADE, label, new, old, copied=copied) if changed else None
        owner = asked.owner
        moved = owner is not None and owner != old_owner and self.controllers.follows(owner)
        taken = moved and not listed
        if new == old and not taken:
            return None
        return NoteChange(NotedChange.KEPT, label, new, old, taken=taken)

    def _asked(self, request: Request, kind: GroupKind, reading: Reading | LeftAlone) -> _Asked:
        judged = not isinstance(reading, LeftAlone)
        metadata = _metadata_of(request, reading)
        owner = controller_reference(metadata.owner_references)
        username = request.subject.username
        made = owner is not None and self.controllers.makes(username, (kind_of_owner(owner),))
        return _Asked(request, kind, metadata, owner, made, judged)

    async def _trace(self, asked: _Asked, *, fresh: bool = False) -> OwnerOrigin:
        return await trace_owners(
            self.cluster,
            asked.request.namespace,
            asked.owner,
            follows=self.controllers.follows,
            trusts=trusts,
            fresh=fresh,
        )


def _of_binding(asked: _Asked) -> NoteChange | None:
    """A Binding carries no note: it would become the Pod's."""
    label = asked.request.subject.label
    return NoteChange(NotedChange.KEPT, label, asked.new) if asked.new != NO_NOTES else None


def _metadata_of(request: Request, reading: Reading | LeftAlone) -> ObjectMeta:
    if not isinstance(reading, LeftAlone) and reading.metadata is not None:
        return reading.metadata
    return _metadata(request, request.object)


def _old(request: Request) -> tuple[RequesterNotes, OwnerReference | None]:
    metadata = _metadata(request, request.old_object)
    return read_notes(metadata.annotations), controller_reference(metadata.owner_references)


def _metadata(request: Request, raw: msgspec.Raw | None) -> ObjectMeta:
    if raw is None:
        raise InvalidObjectError(request.kind.kind, "object", "the review holds none")
    return decode_metadata(raw, request.kind.kind)


def profile_of(facts: Facts) -> str | None:
    """Return the profile on a workload whose templates are new: named by its author, or noted."""
    change = facts.notes
    renewed = change is not None and change.workload and change.change is NotedChange.RENEWED
    return change.new.profile if change is not None and renewed else None


def keeps_profile(facts: Facts, request: Request) -> bool:
    """Return whether the profile on an object is only a note, and no wish of who changes templates.

    The mutating pass keeps it while it covers and may be used, and chooses anew otherwise. The
    validating one finds the note of somebody else only on what is refused: then with the reasons.
    """
    change = facts.notes
    if change is None or change.change is not NotedChange.RENEWED or change.new.profile is None:
        return False
    if request.operation is not Operation.UPDATE:
        return False
    if request.phase is Phase.MUTATING:
        return change.new.profile == change.old.profile or _rolled_back(change)
    return _rolled_back(change) and change.new.requester != change.requester


def _rolled_back(change: NoteChange) -> bool:
    """Return whether the note is that of an earlier template, which came back together with it.

    So `kubectl rollout undo` does (kubectl, pkg/polymorphichelpers/rollback.go): it takes the
    annotations of the old ReplicaSet. Whoever wishes for a profile writes no other requester.
    """
    return change.new.requester not in {None, change.old.requester}


def _gaps(
    profile: str, facts: Facts, privileges: Mapping[str, int], tried: Candidates
) -> frozenset[str] | None:
    """Return what a profile lacks, whatever the ceiling says; None if there is no such profile."""
    if profile not in facts.profiles.by_name:
        return None
    bit = facts.profiles.bit(profile)
    if not tried.within & bit:
        tried = candidates(facts.profiles, None, privileges)
    return frozenset(privilege for privilege, lacking in tried.gaps.items() if lacking & bit)


def would_admit(named: NamedProfile, tried: Candidates, usable: Mapping[str, bool]) -> bool:
    """Return whether the profile that is named would admit."""
    one = tried.only(named.name).first()
    return one is not None and not one.gaps and bool(usable.get(named.name))


def named_profile(request: Request, reading: Reading, facts: Facts) -> NamedProfile | None:
    """Return the profile that the asker, the object's note, its author or the namespace names."""
    if request.asked_profile is not None:
        return NamedProfile(request.asked_profile, "", whoever_asks=True)
    if noted := profile_of(facts):
        return NamedProfile(noted, PROFILE_PATH)
    if reading.named is not None and not is_debug(request):
        return NamedProfile(*reading.named)
    return None if reading.gives else namespace_profile(facts.namespace)


def namespace_profile(namespace: Namespace | None) -> NamedProfile | None:
    """Return the profile that a namespace names for all."""
    if namespace is None or not (name := namespace.profile):
        return None
    path = f"{PROFILE_PATH} of Namespace {namespace.name}"
    return NamedProfile(name, path, of_namespace=True)
