"""The work of `sallyport weights ingest`, and what it says in the end."""

import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import aclosing
from typing import Final

import msgspec

from app.processes.auditor.weight_logs import cluster_of, ingest_of, named_sources
from app.records.ledger import ledger_url
from app.settings.root import Settings
from audit.access.ingest.pipeline import Ingest, slow_garbage_collection
from audit.access.model.batch import RecordBatch
from audit.access.sources.merger import SourceMerger
from audit.ledger.store.store import Store

_EVERY_S: Final = 5.0
"""Between two lines of progress."""

_MOST_KINDS: Final = 10
"""Kinds of records of no concern that the table shows."""


class IngestSummary(msgspec.Struct, frozen=True, rename="camel"):
    """What became of it all."""

    read: int
    stored: int
    known: int
    """In the ledger already."""
    refused: int
    """In quarantine."""
    aside: int
    """Of those: older than `ledger.keep_days`, or more than a day ahead."""
    skipped: int
    """Of no concern here, or of an operation that has not ended."""
    skipped_kinds: dict[str, int]
    """Of those: how many of each kind, the most first."""
    late: int
    confidence: dict[str, int]
    """New accesses to weights, by how sure it is whose they were."""
    ungranted: int
    """New accesses to weights that no AccessGrant covered."""
    findings: dict[str, int]
    """By detection."""
    problems: list[str]
    """What of the ledger could not be used."""
    seconds: float


async def ingest_logs(settings: Settings, names: Sequence[str]) -> IngestSummary:
    """Take in what is named, all of it.

    Raises:
        SettingsError: something is missing, or is not there.
        SourceError: a file cannot be read.
        LedgerError: the ledger fails; what it has already, stays.
    """
    slow_garbage_collection()
    began = time.monotonic()
    sources = named_sources(names, cluster_of(settings))
    async with Store(ledger_url(settings), keep_days=settings.ledger.keep_days) as store:
        ingest = ingest_of(settings, store, patience_s=0)
        await ingest.begin()
        merging = SourceMerger(sources, ingest.places, again_s=None)
        async with aclosing(merging.stretches()) as stretches:
            await ingest.run(_telling(stretches, ingest))
        await ingest.idle()
        await ingest.save()
    return _taken(ingest, time.monotonic() - began)


def lines_of(taken: IngestSummary) -> Iterator[str]:
    """Yield the outcome in words, a line each."""
    rate = int(taken.read / taken.seconds) if taken.seconds else 0
    yield f"{taken.read:,} records read in {taken.seconds:.1f} s, {rate:,} a second"
    yield (
        f"{taken.stored:,} stored, {taken.known:,} known, {taken.refused:,} refused, "
        f"{taken.skipped:,} of no concern, {taken.late:,} late"
    )
    sure = ", ".join(f"{count:,} {word}" for word, count in taken.confidence.items())
    for kind, count in list(taken.skipped_kinds.items())[:_MOST_KINDS]:
        yield f"    of no concern: {count:,} {kind}"
    if (more := len(taken.skipped_kinds) - _MOST_KINDS) > 0:
        yield f"    of no concern: {more} more kinds, which -o json lists"
    yield f"new accesses to weights: {sure or 'none'}; {taken.ungranted:,} without a grant"
    for detection, count in taken.findings.items():
        yield f"{count:,} findings of {detection}"
    if taken.refused:
        yield "what was refused is in quarantine, with its place and its reason: see a report"
    if taken.aside:
        yield f"{taken.aside:,} of them are older than ledger.keep_days, or more than a day ahead"
    for problem in taken.problems:
        yield f"not used: {problem}"


async def _telling(
    stretches: AsyncIterator[RecordBatch | None], ingest: Ingest
) -> AsyncIterator[RecordBatch | None]:
    began = said = time.monotonic()
    async for stretch in stretches:
        yield stretch
        now = time.monotonic()
        if now - said >= _EVERY_S:
            said = now
            read = sum(
                count for (_, word), count in ingest.counts.records.items() if word != "late"
            )
            sys.stderr.write(f"{read:,} records taken in, {int(read / (now - began)):,} a second\n")
            sys.stderr.flush()


def _taken(ingest: Ingest, seconds: float) -> IngestSummary:
    outcomes: Counter[str] = Counter()
    findings: Counter[str] = Counter()
    for (_, outcome), count in ingest.counts.records.items():
        outcomes[outcome] += count
    for (detection, _), count in ingest.counts.findings.items():
        findings[detection] += count
    read = sum(outcomes[word] for word in ("stored", "known", "refused", "skipped"))
    return IngestSummary(
        read=read,
        stored=outcomes["stored"],
        known=outcomes["known"],
        refused=outcomes["refused"],
        aside=ingest.counts.aside,
        skipped=outcomes["skipped"],
        skipped_kinds=dict(ingest.counts.skipped_kinds.most_common()),
        late=outcomes["late"],
        confidence=dict(sorted(ingest.counts.confidence.items())),
        ungranted=ingest.counts.ungranted,
        findings=dict(sorted(findings.items())),
        problems=ingest.counts.problems,
        seconds=round(seconds, 3),
    )
