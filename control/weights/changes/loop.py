"""Records changes of the objects that people decide with, and when approvals begin and end.

Who was granted what, who may sign in as whom, what was excused, and by whom it was approved: asked
of the ledger later, also when the object is long gone. What changed while nobody looked is noticed
by comparing with what was recorded last, and said to be so.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol

import msgspec
import structlog

from admission.approvals.approvals import Approve
from audit.ledger.records.recorder import LedgerRecorder
from control.loop import Loop
from control.weights.changes.comparison import ApprovalStage, ObjectComparison, ObjectRecord
from control.weights.changes.store import ChangeStore
from control.weights.checkpoint import EVER, CheckpointStore, build_gap
from core.approvals.approvals import CLUSTER_KIND, KIND, TIERS
from core.approvals.break_glass import KIND as BREAK_GLASS
from core.base.errors import AccessReviewError, NotSyncedError
from core.base.times import milli_text
from core.people.two_person import PEOPLE_NEEDED, Approved, Consent, NotApproved
from core.weights.access_grants import KIND as GRANT
from core.weights.documents.object_change import ObjectChange
from core.weights.grants_in_force import GrantLapse, find_lapse
from kube.leader.lease import Leadership
from kube.resources.service_accounts import KIND as ACCOUNT
from kube.weights.recorded_objects import RecordedObject, RecordedObjects

BUNDLE = "Bundle"
RISK_TABLE = "RiskTable"

INTERVAL_S: Final = 5.0

_log = structlog.get_logger(__name__)


@dataclass
class WithRevisions:
    """The objects of a cluster, and the revisions that this process works by."""

    objects: RecordedObjects
    revisions: Mapping[str, Callable[[], str]]
    """By kind: gives the digest of what is in force; empty where nothing is."""
    clock: Callable[[], float]
    _seen: dict[str, RecordedObject] = field(default_factory=dict)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds that are recorded."""
        return (*self.objects.kinds, *self.revisions)

    def of(self, kind: str) -> Mapping[str, RecordedObject] | None:
        """Return those of a kind by their key; None where nobody serves it.

        Raises:
            NotSyncedError: they have not been loaded, or the watch has been down too long.
        """
        if kind not in self.revisions:
            return self.objects.of(kind)
        try:
            digest = self.revisions[kind]()
        except NotSyncedError:
            return None
        if not digest:
            return {}
        seen = self._seen.get(kind)
        if seen is None or seen.digest != digest:
            now = self.clock()
            seen = self._seen[kind] = RecordedObject(kind, "", "in-force", "", digest, now, now)
        return {seen.key: seen}


class ObjectSource(Protocol):
    """The objects: `kube.weights.recorded_objects.RecordedObjects`."""

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds that are recorded."""

    def of(self, kind: str) -> Mapping[str, RecordedObject] | None:
        """Return those of a kind; None where nobody serves it."""


@dataclass(frozen=True)
class ChangeParts:
    """What the recorder of changes works with."""

    cluster: str
    objects: ObjectSource
    known: ChangeStore
    reached: CheckpointStore
    records: LedgerRecorder
    approve: Approve
    kept_until: Callable[[], float]
    """Gives the Unix seconds up to which all that was recorded is kept for good."""
    clock: Callable[[], float] = time.time


@dataclass
class _Term:
    leadership: Leadership
    since: str = ""
    """Why what is noticed first may have happened before."""
    known: dict[str, dict[str, ObjectRecord]] = field(default_factory=dict)
    changed: set[tuple[str, str]] = field(default_factory=set)
    """Kind and key of what has changed since its approval was recorded: what was approved then is
    not what is there now."""
    unsaved: dict[str, float] = field(default_factory=dict)
    """By kind: when something was recorded that is not stored as known."""


class Changes:
    """`loop` is its loop: each run compares all kinds."""

    def __init__(self, parts: ChangeParts) -> None:
        self._parts = parts
        self._term: _Term | None = None
        self.loop = Loop("recorded-changes", INTERVAL_S, self.run, forget=self._forget)

    async def run(self, leadership: Leadership) -> None:
        """Record what changed of each kind that is loaded.

        Raises:
            ClusterError: kube-apiserver does not answer, or refuses.
            NotSyncedError: a kind, or what an approval depends on, has not been loaded. The others
                were looked at, but not which of them count: an approval that is not seen is none
                that ended.
            NotRecordedError: the spool takes nothing: it is noticed again.
            NotLeaderError: the term is over.
        """
        term = self._term
        if term is None or term.leadership is not leadership:
            term = self._term = _Term(leadership, await self._away())
        missing = await self._look_at_all(term)
        if missing is None:
            missing = await self._stand(term)
        await self._save(term)
        if missing is None:
            term.since = ""
        else:
            raise missing

    async def _away(self) -> str:
        reached = await self._parts.reached.load()
        if reached is None:
            return "noticed when it was looked at for the first time"
        at = milli_text(round(reached.time * 1000))
        return f"noticed when control looked again: it happened after {at}"

    async def _look_at_all(self, term: _Term) -> NotSyncedError | None:
        """Compare all kinds; give the first problem of those that could not be looked at."""
        missing = None
        for kind in self._parts.objects.kinds:
            try:
                live = self._parts.objects.of(kind)
            except NotSyncedError as error:
                missing = missing or error
                continue
            if live is not None:
                await self._look_at(term, kind, live)
        return missing

    async def _look_at(self, term: _Term, kind: str, live: Mapping[str, RecordedObject]) -> None:
        now = self._parts.clock()
        if kind not in term.known:
            stored = await self._parts.known.load(kind)
            if stored is None:
                term.unsaved[kind] = now
                self._note_first(kind, now)
            term.known[kind] = stored or {}
        known = term.known[kind]
        noticing = ObjectComparison(self._parts.cluster, now, term.since)
        for key, after, change in list(noticing.compared(known, live, kind)):
            self._parts.records.record_change(change)
            term.unsaved[kind] = now
            # Opening a BreakGlass changes nothing of it that is approved.
            if change.event == "changed" and kind in TIERS and kind != BREAK_GLASS:
                term.changed.add((kind, key))
            if after is None:
                known.pop(key, None)
                term.changed.discard((kind, key))
            else:
                known[key] = after

    def _note_first(self, kind: str, now: float) -> None:
        log = "identities" if kind == ACCOUNT else "changes"
        why = "nobody recorded changes before"
        self._parts.records.record_gap(build_gap(self._parts.cluster, log, kind, EVER, now, why))

    async def _stand(self, term: _Term) -> NotSyncedError | None:
        """Record of all that need approval which count now, and which no longer do.

        Give what keeps it from being known, if anything does.
        """
        try:
            await self._record_approvals(term)
        except NotSyncedError as error:
            return error
        return None

    async def _record_approvals(self, term: _Term) -> None:
        consents = self._consents()
        for kind in TIERS:
            live = self._live(kind)
            for key, known in list(term.known.get(kind, {}).items()):
                found = live.get(key)
                if found is None or found.approvable is None:
                    continue
                change = await self._stood(term, found, known, consents.get(found.uid, ()))
                if change is not None:
                    self._parts.records.record_change(change[1])
                    term.changed.discard((kind, key))
                    term.known[kind][key] = change[0]
                    term.unsaved[kind] = self._parts.clock()

    async def _stood(
        self, term: _Term, found: RecordedObject, known: ObjectRecord, consents: tuple[Consent, ...]
    ) -> tuple[ObjectRecord, ObjectChange] | None:
        """Return what is known of an object from now on, where that has changed."""
        now = self._parts.clock()
        stage = ApprovalStage(known.stage)
        noticing = ObjectComparison(self._parts.cluster, now, term.since)
        if _has_expired(found, now):
            return None if stage is ApprovalStage.ENDED else noticing.ended(found, known, None)
        counted = stage is ApprovalStage.APPROVED
        if not counted and len(consents) < PEOPLE_NEEDED:
            return None
        answer = await self._answer(found, consents, now)
        if answer is None:
            return None
        if isinstance(answer, NotApproved):
            return noticing.ended(found, known, answer) if counted else None
        if counted and (found.kind, found.key) not in term.changed:
            return None
        first = msgspec.structs.replace(known, stage=ApprovalStage.OPEN.value) if counted else known
        return noticing.approved(found, first, answer, consents)

    async def _answer(
        self, found: RecordedObject, consents: tuple[Consent, ...], now: float
    ) -> Approved | NotApproved | None:
        """Ask whether an object counts; None where nobody knows now."""
        if found.approvable is None:
            return None
        if why := _why_void(found, now):
            return NotApproved((why,))
        try:
            return await self._parts.approve(found.approvable, consents, found.kind, now)
        except AccessReviewError as error:
            _log.warning("not known whether it is approved", kind=found.kind, problem=str(error))
            return None

    def _consents(self) -> dict[str, tuple[Consent, ...]]:
        """Return the approvals by what they approve."""
        found: dict[str, list[Consent]] = defaultdict(list)
        for kind in (KIND, CLUSTER_KIND):
            for each in self._live(kind).values():
                if each.consent is not None:
                    found[each.consent.uid].append(each.consent)
        return {uid: tuple(some) for uid, some in found.items()}

    def _live(self, kind: str) -> Mapping[str, RecordedObject]:
        objects = self._parts.objects
        return (objects.of(kind) or {}) if kind in objects.kinds else {}

    async def _save(self, term: _Term) -> None:
        """Store what is known of the kinds of which all that was recorded is kept for good."""
        kept = self._parts.kept_until()
        for kind, at in sorted(term.unsaved.items()):
            if at <= kept:
                await self._parts.known.save(term.leadership, kind, term.known[kind])
                del term.unsaved[kind]

    def _forget(self) -> None:
        self._term = None


def _has_expired(found: RecordedObject, now: float) -> bool:
    if found.grant is not None:
        return find_lapse(found.grant, now, approved=True) is GrantLapse.EXPIRED
    return bool(found.expires) and now >= found.expires


def _why_void(found: RecordedObject, now: float) -> str:
    """Say why nobody's approval of a grant counts; empty where it may, and for other kinds.

    That its time has not come is no reason: whoever reads the record compares the times.
    """
    if found.kind != GRANT:
        return ""
    if found.grant is None:
        return "it cannot be read, so it grants nothing"
    lapse = find_lapse(found.grant, now, approved=True)
    return "it is being deleted" if lapse is GrantLapse.DELETED else ""
