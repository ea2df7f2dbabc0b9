"""What identities that are at risk read of the weights, by what the auditor has recorded."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from audit.access.server.reads_protocol import MOST_LABELS, ReadsSource, ReadsSubject
from core.risk.look_back import MOST_STORES, StoreReads, join_reads
from identity.look_back.subjects import IdentityAtRisk

MOST_ACCESS_PAGES: Final = 500
"""Pages of accesses read for those who share a question, five million accesses."""

TOO_MANY_ACCESSES: Final = (
    "there are too many accesses to storage: the latest reads of the weights are missing"
)


async def weight_reads(
    source: ReadsSource | None,
    risen: Sequence[IdentityAtRisk],
    until_ms: int,
    tell: Callable[[str], None],
) -> tuple[dict[bytes, list[StoreReads]], list[str]]:
    """Return the reads of each identity by its key, the most bytes first; and what is missing.

    Raises:
        LedgerError: they cannot be read now.
    """
    if source is None:
        return {}, []
    sums: dict[tuple[str, str], StoreReads] = {}
    gaps: list[str] = []
    for subjects in _questions(risen):
        after, pages = "", 0
        while pages == 0 or (after and pages < MOST_ACCESS_PAGES):
            tell(f"reading who read the weights: page {pages + 1}")
            page = await source.page(subjects, until_ms, after)
            for each in page.reads:
                key = (each.subject, each.reads.store)
                sums[key] = join_reads(sums[key], each.reads) if key in sums else each.reads
            after, pages = page.next, pages + 1
        if after and TOO_MANY_ACCESSES not in gaps:
            gaps.append(TOO_MANY_ACCESSES)
    return {each.key: _of(_subject(each), sums) for each in risen}, gaps


def _questions(risen: Sequence[IdentityAtRisk]) -> Iterator[list[ReadsSubject]]:
    """Yield as many identities together as one question holds."""
    subjects: list[ReadsSubject] = []
    for each in risen:
        subject = _subject(each)
        if sum(len(one.labels) for one in (*subjects, subject)) > MOST_LABELS:
            yield subjects
            subjects = []
        subjects.append(subject)
    if subjects:
        yield subjects


def _subject(risen: IdentityAtRisk) -> ReadsSubject:
    clients = (f"client:{each}" for each in sorted(risen.client_ids))
    labels = tuple(dict.fromkeys((*map(str.lower, risen.labels), *clients)))
    return ReadsSubject(labels[:MOST_LABELS], risen.begin * 1000)


def _of(subject: ReadsSubject, sums: dict[tuple[str, str], StoreReads]) -> list[StoreReads]:
    mine = [reads for (whose, _), reads in sums.items() if whose == subject.labels[0]]
    return sorted(mine, key=lambda each: (-each.bytes, each.store))[:MOST_STORES]
