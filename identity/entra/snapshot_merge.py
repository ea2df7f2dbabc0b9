"""Merges what Graph told into a risk snapshot. Pure: it changes a draft and nothing else."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from core.risk.model import Application, ApplicationKind, PrincipalKind, RiskSource, identity_key
from core.risk.records import RecordSort
from core.risk.snapshot import Coverage, Head, SnapshotDraft
from identity.entra.application_ids import BY_OBJECT, IdQuery, IdQueue
from identity.entra.graph_answers import (
    GraphItem,
    GuestUser,
    RiskDetection,
    RiskyPrincipal,
    ServicePrincipal,
)
from identity.entra.graph_requests import Resource
from identity.risk.entry_merge import MOST_AHEAD_S, MergeResult, merge_detection, merge_entry
from identity.risk.standings import entry_at_risk

SETTLED_S: Final = 60.0
"""So long after a change nobody is still telling of another one of the same second."""

OVERRULED_S: Final = 6 * 3600.0
"""So long after a change Graph has it as well: what it does not say then, somebody made up who can
write to the event hub, and Graph's word stands."""

_KINDS: Final = {
    Resource.USERS: PrincipalKind.USER,
    Resource.SERVICE_PRINCIPALS: PrincipalKind.SERVICE_PRINCIPAL,
}
_FRESH: Final = Head()


@dataclass(frozen=True, slots=True)
class HeardPage:
    """What one page told."""

    resource: Resource
    items: Sequence[GraphItem]
    now: float
    """Graph's own time."""
    asking: IdQuery | None = None


@dataclass(frozen=True, slots=True)
class ListedPrincipals:
    """Whom a pass over all of them told of."""

    resource: Resource
    keys: frozenset[bytes]
    began: float
    """Graph's own time."""
    missed: frozenset[bytes] = frozenset()
    """Who was at risk and not listed by the pass before."""


def bind_tenant(draft: SnapshotDraft, tenant: str) -> None:
    """Make the snapshot this tenant's: what another one's Entra said is forgotten."""
    if draft.head.tenant and draft.head.tenant != tenant:
        for key, _ in list(draft.before.entries(RiskSource.ENTRA)):
            draft.drop(RiskSource.ENTRA, key)
        for client_id, _ in list(draft.before.applications()):
            draft.drop_application(client_id)
        for key in _guests(draft):
            draft.put_guest(key, is_guest=False)
        nothing = {each.field: getattr(_FRESH, each.field) for each in Resource}
        draft.head = msgspec.structs.replace(draft.head, **nothing)
    draft.head = msgspec.structs.replace(draft.head, tenant=tenant)


def merge_page(draft: SnapshotDraft, heard: HeardPage) -> Counter[MergeResult]:
    """Take in what a page told; give what became of it."""
    counts: Counter[MergeResult] = Counter()
    for item in heard.items:
        if isinstance(item, RiskyPrincipal):
            counts[_fold_risky(draft, item, heard.now)] += 1
        elif isinstance(item, RiskDetection):
            detection = item.detection
            counts[merge_detection(draft, RiskSource.ENTRA, item.key, detection, heard.now)] += 1
        elif isinstance(item, GuestUser):
            draft.put_guest(item.key, is_guest=True)
    if heard.asking is not None:
        _fold_applications(draft, heard.asking, heard.items)
    return counts


def forget_unlisted(draft: SnapshotDraft, listed: ListedPrincipals) -> frozenset[bytes]:
    """Forget who is not listed any more; give those who are kept though they are not.

    One who is at risk goes only when two passes in a row do not list them: pages shift while they
    are read. Who changed since the pass began may be listed further on.
    """
    if listed.resource is Resource.GUESTS:
        for key in _guests(draft) - listed.keys:
            draft.put_guest(key, is_guest=False)
        return frozenset()
    kind, kept = _KINDS[listed.resource], set()
    for key, entry in list(draft.before.entries(RiskSource.ENTRA)):
        if entry.kind is not kind or key in listed.keys:
            continue
        if entry.updated >= listed.began - MOST_AHEAD_S:
            continue
        if entry_at_risk(entry) and key not in listed.missed:
            kept.add(key)
        else:
            draft.drop(RiskSource.ENTRA, key)
    return frozenset(kept)


def forget_unused(draft: SnapshotDraft, waiting: IdQueue) -> None:
    """Forget ids of applications that nobody uses any more, but for those that are at risk.

    Whoever has the credential of one may use it in the cluster for the first time.
    """
    for guid, known in list(draft.before.applications()):
        if not waiting.uses(guid) and not _is_at_risk(draft, known):
            draft.drop_application(guid)


def put_coverages(draft: SnapshotDraft, coverages: Mapping[Resource, Coverage]) -> None:
    """Say how far each resource is known."""
    fields = {each.field: coverage for each, coverage in coverages.items()}
    draft.head = msgspec.structs.replace(draft.head, **fields)


def coverages_of(head: Head, resources: Iterable[Resource]) -> dict[Resource, Coverage]:
    """Return how far each resource is known."""
    return {each: getattr(head, each.field) for each in resources}


def _fold_risky(draft: SnapshotDraft, item: RiskyPrincipal, now: float) -> MergeResult:
    entry, before = item.entry, draft.entry(RiskSource.ENTRA, item.key)
    if not entry.updated:
        # Its time cannot be read: that hides nobody. It counts as changed when it differs.
        said = (entry.level, entry.state, entry.deleted)
        same = before and (before.level, before.state, before.deleted) == said
        updated = before.updated if before and same else int(now)
        entry = msgspec.structs.replace(entry, updated=updated)
    elif before and entry.updated < before.updated <= now - OVERRULED_S:
        entry = msgspec.structs.replace(entry, updated=before.updated)
    if item.client_id:
        _follow(draft, item)
    settled = now - entry.updated >= SETTLED_S
    return merge_entry(draft, RiskSource.ENTRA, item.key, entry, now, settled=settled)


def _follow(draft: SnapshotDraft, item: RiskyPrincipal) -> None:
    """Follow a client id whose service principal was deleted and made again, or is at risk.

    What a Pod signs in as is looked up once it is seen; that of one at risk is known beforehand.
    """
    known = draft.application(item.client_id)
    if known is None and not entry_at_risk(item.entry):
        return
    if known is None or known.kind is ApplicationKind.MISSING:
        known = Application(ApplicationKind.APPLICATION)
    if known.object_id != item.object_id:
        draft.put_application(item.client_id, Application(known.kind, item.object_id))


def _is_at_risk(draft: SnapshotDraft, known: Application) -> bool:
    entry = (
        draft.entry(RiskSource.ENTRA, identity_key(known.object_id)) if known.object_id else None
    )
    return entry is not None and entry_at_risk(entry)


def _fold_applications(draft: SnapshotDraft, asking: IdQuery, items: Iterable[GraphItem]) -> None:
    found = (each for each in items if isinstance(each, ServicePrincipal))
    known = {each.named(asking.field): each.application for each in found}
    for guid in asking.ids:
        if guid in known:
            draft.put_application(guid, known[guid])
        elif asking.field == BY_OBJECT:
            draft.put_application(guid, Application(ApplicationKind.MISSING))


def _guests(draft: SnapshotDraft) -> set[bytes]:
    return {key[1:] for key, _ in draft.before.records(bytes([RecordSort.GUEST]))}
