"""How far a sweep has come: all that whoever goes on with it must know. Pure."""

import datetime as dt
import hashlib
from bisect import bisect_left
from typing import Final, TypeVar

import msgspec

from control.sweep.results import PodResult
from core.decision import Verdict
from core.document import FORMAT, Revisions, SweepDocument, time_of, unix_ms
from core.ids import uuid7

MOST_RESULTS: Final = 100
"""Results kept of one namespace, the worst."""


class NamespaceTally(msgspec.Struct, frozen=True):
    """What was found in a namespace: bounded, whatever runs there."""

    namespace: str
    verdicts: dict[Verdict, int] = {}
    """Pods with each verdict."""
    passed_over: int = 0
    worst: list[PodResult] = []
    """At most MOST_RESULTS, the worst first."""

    @property
    def omitted(self) -> int:
        """How many Pods that are not simply allowed are not among `worst`."""
        allowed = self.verdicts.get(Verdict.ALLOW, 0)
        return sum(self.verdicts.values()) - allowed - len(self.worst)


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """A sweep that is under way."""

    sweep: str
    """UUIDv7 of its beginning."""
    token: str | None = ""
    """Asks for the next page; empty for the first, None when all are listed."""
    consistent: bool = True
    interruptions: int = 0
    verdicts: dict[Verdict, int] = {}
    passed_over: dict[str, int] = {}
    """Pods that were not judged, by reason."""
    namespaces: int = 0
    unwritten: int = 0
    """Reports that should be there and could not be written."""
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


def enter(progress: Progress, namespace: str) -> tuple[Progress, NamespaceTally | None]:
    """Go on with the Pods of `namespace`; give the tally of the one before, if it ends here."""
    before = progress.current
    if before is not None and before.namespace == namespace:
        return progress, None
    entered = msgspec.structs.replace(
        progress, current=NamespaceTally(namespace), namespaces=progress.namespaces + 1
    )
    return entered, before


def count_judged(progress: Progress, verdict: Verdict, result: PodResult | None) -> Progress:
    """Count a Pod of the current namespace; `result` where it is not simply allowed."""
    tally = _current(progress)
    tally = msgspec.structs.replace(
        tally,
        verdicts=_plus_one(tally.verdicts, verdict),
        worst=_insert(tally.worst, result) if result else tally.worst,
    )
    verdicts = _plus_one(progress.verdicts, verdict)
    return msgspec.structs.replace(progress, verdicts=verdicts, current=tally)


def count_passed_over(progress: Progress, reason: str) -> Progress:
    """Count a Pod of the current namespace that is not judged."""
    tally = _current(progress)
    return msgspec.structs.replace(
        progress,
        passed_over=_plus_one(progress.passed_over, reason),
        current=msgspec.structs.replace(tally, passed_over=tally.passed_over + 1),
    )


def leave(progress: Progress) -> tuple[Progress, NamespaceTally | None]:
    """End the last namespace, and give its tally."""
    return msgspec.structs.replace(progress, current=None), progress.current


def document_of(progress: Progress, cluster: str, finished_s: float) -> SweepDocument:
    """Give the document of a sweep that ended at `finished_s`, seconds since the epoch."""
    finished = dt.datetime.fromtimestamp(finished_s, dt.UTC)
    return SweepDocument(
        format=FORMAT,
        id=progress.sweep,
        cluster=cluster,
        started=time_of(progress.sweep),
        finished=finished.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        objects=progress.objects,
        verdicts={verdict.value: count for verdict, count in sorted_counts(progress.verdicts)},
        namespaces=progress.namespaces,
        consistent=progress.consistent,
        interruptions=progress.interruptions,
        revisions=progress.revisions,
    )


def sorted_counts(counts: dict[Verdict, int]) -> list[tuple[Verdict, int]]:
    """Give counts in the order of the verdicts' definition."""
    return [(verdict, counts[verdict]) for verdict in Verdict if verdict in counts]


def decision_id(sweep: str, object_uid: str) -> str:
    """Give the id of a sweep's decision on an object: the same each time it is judged in it.

    Its time is the sweep's beginning, its random bits come from SHA-256.
    """
    digest = hashlib.sha256(f"{sweep}/{object_uid}".encode()).digest()
    return uuid7(unix_ms(sweep), int.from_bytes(digest[:10], "big") >> 6)


def _current(progress: Progress) -> NamespaceTally:
    assert progress.current is not None, "enter a namespace first"  # noqa: S101 -- for the types
    return progress.current


def _insert(worst: list[PodResult], result: PodResult) -> list[PodResult]:
    at = bisect_left(worst, result.order, key=lambda one: one.order)
    if at >= MOST_RESULTS:
        return worst
    return [*worst[:at], result, *worst[at : MOST_RESULTS - 1]]


_Key = TypeVar("_Key", bound=Verdict | str)


def _plus_one(counts: dict[_Key, int], key: _Key) -> dict[_Key, int]:
    return {**counts, key: counts.get(key, 0) + 1}
