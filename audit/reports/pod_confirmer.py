"""How decisions and Pods confirm one another, cluster by cluster. Of one pass over the ledger.

A decision is not yet an object: a quota, a later webhook, or a forged call to the gate may leave it
without one; and a Pod that nobody judged came by a way around the gate. Both are told by namespace.
Memory is bounded by what happens within PATIENCE_S, whatever the period.
"""

import heapq
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from operator import itemgetter
from typing import Final, Protocol, TypeVar

import msgspec

from core.base.times import milli_text, seconds_of
from core.decision.document import Asked
from core.weights.documents.events import Activity, LogGap, Topic
from core.weights.documents.pod_life import LifeEvent, PodLife

PATIENCE_S: Final = 600
"""So much later, by the times in the documents, the other half of a pair may come."""

PATIENCE_MS: Final = PATIENCE_S * 1000
"""What is so long before and after a period is read too: it may be the other half of a pair."""

MOST_FIRST: Final = 20
"""Ids that are named of each namespace; the others are counted."""

_MINUTE: Final = len("2026-10-01T12:30")
_NEVER: Final = "~"
"""Later than every time."""

_KINDS: Final = ("decisions", "pods", "unrecorded")

_V = TypeVar("_V")


class UnmatchedCounts(msgspec.Struct, frozen=True, rename="camel"):
    """What of a namespace has no other half."""

    namespace: str
    decisions: int = 0
    """Admitted, and no such Pod was seen, nor the decision in kube-apiserver's audit log."""
    first_decisions: tuple[str, ...] = ()
    """Their ids, the first MOST_FIRST."""
    pods: int = 0
    """Seen to begin, and no decision admitted them."""
    first_pods: tuple[str, ...] = ()
    """`name@uid`, the first MOST_FIRST."""
    unrecorded: int = 0
    """Decisions that kube-apiserver's audit log names and the ledger does not have."""
    first_unrecorded: tuple[str, ...] = ()
    in_gaps: int = 0
    """Of all these, how many fall into a gap of the record of Pods: nothing follows from them."""


class ConfirmationResult(msgspec.Struct, frozen=True, rename="camel"):
    """What came of a period."""

    by_pod: int = 0
    """Decisions whose Pod was seen."""
    by_audit: int = 0
    """Decisions that only kube-apiserver's audit log confirms: it holds a second copy."""
    unmatched: tuple[UnmatchedCounts, ...] = ()
    """By namespace, in the order of their names."""


class _Decision(msgspec.Struct):
    time: str
    namespace: str
    id: str
    audited: bool
    """Whether kube-apiserver's audit log says that the object was stored."""


@dataclass
class _NamespaceCounts:
    """Of one namespace."""

    counts: Counter[str] = field(default_factory=Counter)
    first: dict[str, list[str]] = field(default_factory=dict)
    in_gaps: int = 0

    def add(self, kind: str, name: str, *, in_gap: bool) -> None:
        """Count one thing that has no other half."""
        self.counts[kind] += 1
        self.in_gaps += in_gap
        named = self.first.setdefault(kind, [])
        if len(named) < MOST_FIRST:
            named.append(name)

    def told(self, namespace: str) -> UnmatchedCounts:
        """Return what came of the namespace."""
        fields = {kind: self.counts[kind] for kind in _KINDS}
        named = {f"first_{kind}": tuple(self.first.get(kind, ())) for kind in _KINDS}
        return UnmatchedCounts(namespace, **fields, **named, in_gaps=self.in_gaps)  # type: ignore[arg-type]


class JudgedDecision(Protocol):
    """What is read of a decision: `core.decision.document.DecisionDocument` has it."""

    @property
    def id(self) -> str:
        """Its id."""

    @property
    def time(self) -> str:
        """RFC 3339."""

    @property
    def source(self) -> str:
        """What made it."""

    @property
    def request(self) -> Asked:
        """What was asked."""

    @property
    def allowed(self) -> bool:
        """Whether it was admitted."""


_Document = JudgedDecision | PodLife | Activity

_Waiting = tuple[str, str, str]
"""Time, namespace, and what it is called in the outcome."""


def confirm_decisions(
    decisions: Iterable[JudgedDecision],
    lives: Iterable[PodLife],
    seen: Iterable[Activity] = (),
    gaps: Iterable[LogGap] = (),
    ignored: Callable[[str], bool] = lambda _: False,
) -> ConfirmationResult:
    """Confirm the decisions of one cluster and period; all but `gaps` come in the order of time.

    `seen` are activities of Topic.DECISION_SEEN; where that log is not read, none. `ignored` says
    of a namespace that nothing is judged there.
    """
    spans = [(each.begin, each.end) for each in gaps if each.log == "pods"]
    state = PodConfirmer(spans, ignored)
    streams: tuple[Iterable[_Document], ...] = (decisions, lives, seen)
    for document in heapq.merge(*streams, key=_time_of):
        state.take(document)
    return state.outcome()


@dataclass
class PodConfirmer:
    """The same, one document after the other: for who has no iterables. Mutable, of one cluster."""

    gaps: Sequence[tuple[str, str]]
    ignored: Callable[[str], bool] = lambda _: False
    begin: str = ""
    end: str = "~"
    """Times: what is decided or begins before or after is taken for the other half of a pair only,
    so that the edges of a period make no half pairs."""
    by_pod: int = 0
    by_audit: int = 0
    tallies: dict[str, _NamespaceCounts] = field(default_factory=dict)
    decided: dict[str, _Decision] = field(default_factory=dict)
    """By UID of the Pod."""
    uids: dict[str, str] = field(default_factory=dict)
    """Of `decided`, by the decision's id."""
    lived: dict[str, _Waiting] = field(default_factory=dict)
    """By UID."""
    seen: dict[str, tuple[str, str, bool]] = field(default_factory=dict)
    """Time, namespace, and whether the object was stored, by the decision's id."""
    known: dict[str, str] = field(default_factory=dict)
    """Times of the decisions of late that wait for nothing, by id."""
    minute: str = ""

    def take(self, document: _Document) -> None:
        """Take in a document; they come in the order of time."""
        if document.time[:_MINUTE] != self.minute:
            self.minute = document.time[:_MINUTE]
            self.expire(_earlier(self.minute))
        if isinstance(document, PodLife):
            self._live(document)
        elif not isinstance(document, Activity):
            self._decide(document)
        elif document.topic is Topic.DECISION_SEEN:
            self._see(document)

    def outcome(self) -> ConfirmationResult:
        """Return what came of it; nothing more may come."""
        self.expire(_NEVER)
        found = tuple(self.tallies[name].told(name) for name in sorted(self.tallies))
        return ConfirmationResult(self.by_pod, self.by_audit, found)

    def _decide(self, document: JudgedDecision) -> None:
        asked = document.request
        _, _, stored = self.seen.pop(document.id, ("", "", False))
        waits = _admits_pod(document) and not self.ignored(asked.namespace)
        if waits and self.lived.pop(asked.object_uid, None) is not None:
            self.by_pod += self._is_within(document.time)
            waits = False
        if not waits:
            self.known[document.id] = document.time
            return
        self.decided[asked.object_uid] = _Decision(
            document.time, asked.namespace, document.id, stored
        )
        self.uids[document.id] = asked.object_uid

    def _live(self, life: PodLife) -> None:
        if not _begins(life) or self.ignored(life.namespace):
            return
        decided = self.decided.pop(life.uid, None)
        if decided is None:
            self.lived[life.uid] = (life.time, life.namespace, f"{life.name}@{life.uid}")
            return
        self.by_pod += self._is_within(decided.time)
        self._settle(decided)

    def _see(self, activity: Activity) -> None:
        decision = str(activity.facts.get("decision", ""))
        stored = activity.succeeded
        if decision in self.uids:
            self.decided[self.uids[decision]].audited |= stored
        elif decision and decision not in self.known:
            namespace = activity.resource.partition("/")[0]
            self.seen[decision] = (activity.time, namespace, stored)

    def expire(self, before: str) -> None:
        """Give up on what has waited since before a time."""
        for uid in _older(self.decided, before, lambda each: each.time):
            decided = self.decided.pop(uid)
            self._settle(decided)
            if decided.audited:
                self.by_audit += self._is_within(decided.time)
            else:
                self._give_up("decisions", decided.time, decided.namespace, decided.id)
        for uid in _older(self.lived, before, itemgetter(0)):
            self._give_up("pods", *self.lived.pop(uid))
        for decision in _older(self.seen, before, itemgetter(0)):
            time, namespace, _ = self.seen.pop(decision)
            self._give_up("unrecorded", time, namespace, decision)
        for decision in _older(self.known, before, str):
            del self.known[decision]

    def _settle(self, decided: _Decision) -> None:
        self.uids.pop(decided.id, None)
        self.known[decided.id] = decided.time

    def _give_up(self, kind: str, time: str, namespace: str, name: str) -> None:
        if not self._is_within(time):
            return
        in_gap = any(begin <= time <= end for begin, end in self.gaps)
        self.tallies.setdefault(namespace, _NamespaceCounts()).add(kind, name, in_gap=in_gap)

    def _is_within(self, time: str) -> bool:
        return self.begin <= time < self.end


def _older(waiting: dict[str, _V], before: str, time: Callable[[_V], str]) -> list[str]:
    """Return the keys of what waits since before a time; the dict is in the order of time."""
    return [key for key, _ in takewhile(lambda item: time(item[1]) < before, waiting.items())]


def _admits_pod(document: JudgedDecision) -> bool:
    """Return whether a Pod should come of a decision."""
    asked = document.request
    whole = asked.kind == "Pod" and not asked.subresource and asked.operation == "CREATE"
    judged = document.source == "validate" and document.allowed and not asked.dry_run
    return whole and judged and bool(asked.object_uid)


def _begins(life: PodLife) -> bool:
    """Return whether this is the first that was told of a Pod: others come later in its life."""
    return life.event is LifeEvent.SEEN and life.time <= life.began


def _time_of(document: _Document) -> str:
    return document.time


def _earlier(minute: str) -> str:
    """Return the time that is PATIENCE_S before a minute (`2026-10-01T12:30`)."""
    unix_s = seconds_of(f"{minute}:00+00:00")
    return milli_text(int(unix_s - PATIENCE_S) * 1000)
