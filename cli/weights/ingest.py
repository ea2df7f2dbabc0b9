"""The work of `sallyport weights ingest`, and what it says in the end."""

import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, aclosing
from typing import Final

import msgspec

from app.processes.auditor.weight_logs import cluster_of, ingest_of, named_sources
from app.records.ledger import make_store
from app.settings.root import Settings
from audit.access.ingest.pipeline import Ingest, slow_garbage_collection
from audit.access.model.batch import RecordBatch
from audit.access.sources.merger import SourceMerger
from cli.output import STANDARD_INPUT
from cli.weights.file_changes import FileGrant
from cli.weights.file_objects import (
    FILES_CLUSTER,
    FileObjects,
    make_state_folder,
    record_objects,
    report_command,
)
from cli.weights.store_files import read_store_files
from core.base.errors import SettingsError
from core.base.times import time_text

_EVERY_S: Final = 5.0
"""Between two lines of progress."""

_MOST_KINDS: Final = 10
"""Kinds of records of no concern that the table shows."""


FORMAT: Final = 1
"""Version of what programs read."""

_MOST_TOLD: Final = 50
"""Grants that are told line by line."""


class IngestSummary(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What became of it all; what `-o json` prints."""

    format: int = FORMAT
    cluster: str
    """The cluster's id under which it is kept."""
    objects: FileObjects | None = None
    """What --stores named; null without it."""
    first: str = ""
    """RFC 3339: the earliest record; empty where there was none."""
    last: str = ""
    next: str = ""
    """What makes a report of it; empty where there was no record."""
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


async def ingest_logs(
    settings: Settings, names: Sequence[str], stores: Sequence[str] = ()
) -> IngestSummary:
    """Take in what is named, all of it; `stores` name files of WeightStores and AccessGrants.

    Raises:
        SettingsError: something is missing, or is not there.
        InvalidObjectError: an object of the files is wrong; nothing is taken in.
        SourceError: a file cannot be read.
        LedgerError: the ledger fails; what it has already, stays.
    """
    slow_garbage_collection()
    began = time.monotonic()
    if STANDARD_INPUT in stores and STANDARD_INPUT in names:
        raise SettingsError("--stores -: standard input is the log's: name a file for the objects")
    files = read_store_files(stores) if stores else None
    if files is not None and not settings.cluster_id:
        settings = settings.model_copy(update={"cluster_id": FILES_CLUSTER})
    cluster = cluster_of(settings)
    sources = named_sources(names, cluster)
    make_state_folder(settings)
    async with AsyncExitStack() as stack:
        store = await stack.enter_async_context(make_store(settings, stack))
        objects = await record_objects(settings, store, files) if files is not None else None
        ingest = ingest_of(settings, store, patience_s=0)
        await ingest.begin()
        merging = SourceMerger(sources, ingest.places, again_s=None)
        async with aclosing(merging.stretches()) as stretches:
            await ingest.run(_telling(stretches, ingest))
        await ingest.idle()
        await ingest.save()
    return _taken(settings, ingest, objects, time.monotonic() - began)


def lines_of(taken: IngestSummary) -> Iterator[str]:
    """Yield the outcome in words, a line each."""
    if taken.objects is not None:
        yield from _object_lines(taken.objects, taken.cluster)
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
        yield (
            f"{taken.aside:,} of them are older than ledger.keep_days "
            "(SALLYPORT_LEDGER__KEEP_DAYS), or more than a day ahead"
        )
    for problem in taken.problems:
        yield f"not used: {problem}"
    if taken.objects is not None and taken.objects.recorded and taken.objects.judged_before:
        yield (
            "accesses that were in the ledger already keep what was said of them as they came: "
            "name another --cluster-id to judge all of them by these objects"
        )
    if taken.next:
        yield f"next: {taken.next}"


def _object_lines(objects: FileObjects, cluster: str) -> Iterator[str]:
    """Yield what was read of --stores, and what follows from it."""
    yield f"kept under the cluster id {cluster}; --cluster-id names another"
    yield (
        f"{_count(len(objects.stores), 'WeightStore')}, "
        f"{_count(len(objects.grants), 'AccessGrant')}, "
        f"{_count(objects.approvals, 'Approval')} of them read; "
        f"new in the ledger: {_count(objects.recorded, 'change')}"
    )
    for kind, count in objects.skipped.items():
        yield f"    of another kind, not read: {count:,} {kind}"
    for name in objects.undated[:_MOST_TOLD]:
        yield f"    {name} names no metadata.creationTimestamp: taken as if it was always there"
    for name in objects.unknown_stores[:_MOST_TOLD]:
        yield f"    WeightStore {name} is granted, and no file or ledger has it: nothing is its"
    for grant in objects.grants[:_MOST_TOLD]:
        yield f"    {_grant_line(grant)}"
    if (more := len(objects.grants) - _MOST_TOLD) > 0:
        yield f"    {more} more AccessGrants, which -o json lists"
    if not objects.pods_recorded:
        yield (
            "no record of Pods is there: an access has no Pod, findings that miss one are low or "
            "medium, and grants to service accounts cover nothing; those to people (oid:) do"
        )


def _count(count: int, what: str) -> str:
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


def _grant_line(grant: FileGrant) -> str:
    what = f"AccessGrant {grant.name} of {grant.store}"
    if not grant.approved_since:
        return f"{what} grants nothing: {grant.why}"
    ended = f" ({grant.why})" if grant.why else ""
    return f"{what}: approved by two from {grant.approved_since} until {grant.until}{ended}"


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


def _taken(
    settings: Settings, ingest: Ingest, objects: FileObjects | None, seconds: float
) -> IngestSummary:
    outcomes: Counter[str] = Counter()
    findings: Counter[str] = Counter()
    for (_, outcome), count in ingest.counts.records.items():
        outcomes[outcome] += count
    for (detection, _), count in ingest.counts.findings.items():
        findings[detection] += count
    read = sum(outcomes[word] for word in ("stored", "known", "refused", "skipped"))
    oldest = min(ingest.counts.oldest.values(), default=0.0)
    newest = max(ingest.counts.newest.values(), default=0.0)
    return IngestSummary(
        cluster=cluster_of(settings),
        objects=objects,
        first=time_text(oldest) if newest else "",
        last=time_text(newest) if newest else "",
        next=report_command(settings, oldest, newest) if newest else "",
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
