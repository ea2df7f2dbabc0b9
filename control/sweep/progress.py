"""How far a sweep has come: all that whoever goes on with it must know. Pure."""

import datetime as dt
from bisect import bisect_left
from typing import Annotated, Final, TypeVar

import msgspec

from control.sweep.results import PodResult
from core.base.ids import uuid7_time
from core.decision.decision import Verdict
from core.decision.document import FORMAT, Revisions
from core.decision.sweep_document import SweepDocument

MOST_RESULTS: Final = 100
"""Results kept of one namespace, the worst."""

MOST_OF_OWNER: Final = 10
"""Results kept of one owner, the worst: the Pods of a gang, equally bad, hide nobody else's."""

MOST_UNWRITTEN: Final = 100
"""Namespaces remembered because their Reports could not be written."""

MOST_NAMESPACES: Final = 2500
"""Namespaces whose Pods are counted one by one: 180 KB of the longest names."""

Count = Annotated[int, msgspec.Meta(ge=0, lt=2**53)]
"""Pods of a cluster, and more than there will ever be. What is stored elsewhere is refused."""

Namespace = Annotated[str, msgspec.Meta(pattern=r"\A[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?\Z")]
"""An RFC 1123 label; it becomes part of a Report's path."""

_Key = TypeVar("_Key", bound=Verdict | str)


class NamespaceTally(msgspec.Struct, frozen=True):
    """What was found in a namespace: bounded, whatever runs there."""

    namespace: Namespace
    verdicts: dict[Verdict, Count] = {}
    """Pods with each verdict."""
    passed_over: Count = 0
    worst: Annotated[list[PodResult], msgspec.Meta(max_length=MOST_RESULTS)] = []
    """At most MOST_RESULTS, and MOST_OF_OWNER of one owner; the worst first."""
    more: Annotated[dict[str, Count], msgspec.Meta(max_length=MOST_RESULTS)] = {}
    """Pods left out, by owner, of the owners in `worst`; at least so many."""

    @property
    def omitted(self) -> int:
        """How many Pods that are not simply allowed are not among `worst`."""
        allowed = self.verdicts.get(Verdict.ALLOW, 0)
        return sum(self.verdicts.values()) - allowed - len(self.worst)


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """A sweep that is under way."""

    sweep: str
    """UUIDv7 of its beginning."""
    token: Annotated[str, msgspec.Meta(max_length=2048)] | None = ""
    """Asks for the next page; empty for the first, None when all are listed.

    kube-apiserver's holds a key of at most 330 characters and a revision, in Base64.
    """
    consistent: bool = True
    interruptions: Count = 0
    verdicts: dict[Verdict, Count] = {}
    passed_over: Annotated[dict[str, Count], msgspec.Meta(max_length=16)] = {}
    """Pods that were not judged, by reason."""
    namespaces: Count = 0
    sandbox_missing: Count = 0
    """Pods that should run in a sandbox and do not."""
    pods: Annotated[dict[Namespace, Count], msgspec.Meta(max_length=MOST_NAMESPACES)] = {}
    """Pods that were judged, of the namespaces that are done; at most MOST_NAMESPACES."""
    unwritten: Count = 0
    """Reports that should be there and could not be written."""
    unwritten_in: Annotated[list[Namespace], msgspec.Meta(max_length=MOST_UNWRITTEN)] = []
    """The namespaces of the first MOST_UNWRITTEN of them."""
    revisions: Revisions = Revisions()
    """Of the last decision that names any."""
    current: NamespaceTally | None = None
    """The namespace whose Pods are being judged."""

    @property
    def objects(self) -> int:
        """Pods that were judged."""
        return sum(self.verdicts.values())

    @property
    def seen(self) -> int:
        """Pods that were listed."""
        return self.objects + sum(self.passed_over.values())

    @property
    def knows_all_unwritten(self) -> bool:
        """Whether each namespace whose Report could not be written is in `unwritten_in`."""
        return self.unwritten == len(self.unwritten_in)


def enter(progress: Progress, namespace: str) -> tuple[Progress, NamespaceTally | None]:
    """Go on with the Pods of `namespace`; give the tally of the one before, if it ends here."""
    before = progress.current
    if before is not None and before.namespace == namespace:
        return progress, None
    entered = msgspec.structs.replace(
        _done(progress), current=NamespaceTally(namespace), namespaces=progress.namespaces + 1
    )
    return entered, before


def count_judged(progress: Progress, verdict: Verdict, result: PodResult | None) -> Progress:
    """Count a Pod of the current namespace; `result` where it is not simply allowed."""
    tally = _current(progress)
    tally = msgspec.structs.replace(tally, verdicts=_plus_one(tally.verdicts, verdict))
    tally = _insert(tally, result) if result else tally
    verdicts = _plus_one(progress.verdicts, verdict)
    return msgspec.structs.replace(progress, verdicts=verdicts, current=tally)


def count_sandbox_missing(progress: Progress) -> Progress:
    """Count a Pod that should run in a sandbox and does not."""
    return msgspec.structs.replace(progress, sandbox_missing=progress.sandbox_missing + 1)


def count_passed_over(progress: Progress, reason: str) -> Progress:
    """Count a Pod of the current namespace that is not judged."""
    tally = _current(progress)
    return msgspec.structs.replace(
        progress,
        passed_over=_plus_one(progress.passed_over, reason),
        current=msgspec.structs.replace(tally, passed_over=tally.passed_over + 1),
    )


def count_unwritten(progress: Progress, namespace: str) -> Progress:
    """Count a Report that could not be written, and remember where while there is room."""
    known = progress.unwritten_in
    if len(known) < MOST_UNWRITTEN:
        known = [*known, namespace]
    return msgspec.structs.replace(progress, unwritten=progress.unwritten + 1, unwritten_in=known)


def leave(progress: Progress) -> tuple[Progress, NamespaceTally | None]:
    """End the last namespace, and give its tally."""
    return msgspec.structs.replace(_done(progress), current=None), progress.current


def document_of(progress: Progress, cluster: str, finished_s: float) -> SweepDocument:
    """Return the document of a sweep that ended at `finished_s`, seconds since the epoch."""
    finished = dt.datetime.fromtimestamp(finished_s, dt.UTC)
    return SweepDocument(
        format=FORMAT,
        id=progress.sweep,
        cluster=cluster,
        started=uuid7_time(progress.sweep),
        finished=finished.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        objects=progress.objects,
        verdicts={verdict.value: count for verdict, count in sorted_counts(progress.verdicts)},
        namespaces=progress.namespaces,
        sandbox_missing=progress.sandbox_missing,
        pods=progress.pods if len(progress.pods) < MOST_NAMESPACES else {},
        consistent=progress.consistent,
        interruptions=progress.interruptions,
        revisions=progress.revisions,
    )


def sorted_counts(counts: dict[Verdict, int]) -> list[tuple[Verdict, int]]:
    """Return counts in the order of the verdicts' definition."""
    return [(verdict, counts[verdict]) for verdict in Verdict if verdict in counts]


def _done(progress: Progress) -> Progress:
    """Keep how many Pods were judged in the namespace that ends here."""
    tally, known = progress.current, progress.pods
    if tally is None or len(known) >= MOST_NAMESPACES:
        return progress
    judged = known.get(tally.namespace, 0) + sum(tally.verdicts.values())
    return msgspec.structs.replace(progress, pods={**known, tally.namespace: judged})


def _current(progress: Progress) -> NamespaceTally:
    assert progress.current is not None, "enter a namespace first"  # noqa: S101 -- for the types
    return progress.current


def _insert(tally: NamespaceTally, result: PodResult) -> NamespaceTally:
    at = bisect_left(tally.worst, result.order, key=lambda one: one.order)
    worst = [*tally.worst[:at], result, *tally.worst[at:]]
    left_out = _take_excess(worst, result.owner)
    if left_out is None:
        return msgspec.structs.replace(tally, worst=worst)
    more, owners = _plus_one(tally.more, left_out.owner), {one.owner for one in worst} - {""}
    more = {owner: count for owner, count in more.items() if owner in owners}
    return msgspec.structs.replace(tally, worst=worst, more=more)


def _take_excess(worst: list[PodResult], owner: str) -> PodResult | None:
    """Take out of `worst` what is one too many, now that one of `owner` is added."""
    of_owner = [at for at, one in enumerate(worst) if owner and one.owner == owner]
    if len(of_owner) > MOST_OF_OWNER:
        return worst.pop(of_owner[-1])
    return worst.pop() if len(worst) > MOST_RESULTS else None


def _plus_one(counts: dict[_Key, int], key: _Key) -> dict[_Key, int]:
    return {**counts, key: counts.get(key, 0) + 1}
