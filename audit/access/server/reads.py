"""Answers `GET /v1/weight-reads` from the ledger: what identities read of the weights."""

import re
import uuid
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Final

import msgspec

from audit.access.server.reads_protocol import (
    FORMAT,
    MOST_LABELS,
    IdentityReads,
    ReadsPage,
    ReadsSubject,
)
from audit.ledger.records.frames import FrameKind
from audit.ledger.server.service import BadQuestionError, Question
from audit.ledger.store.queries import LedgerQueries
from core.base.ids import uuid7_unix_ms
from core.risk.look_back import StoreReads, join_reads
from core.weights.documents.access import Access, Act, Confidence, decode_access

ROWS: Final = 10_000
"""Accesses of one page: a third of a second's work."""

_LABEL: Final = r"(?:(?:oid|client):[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|user:[0-9a-f]{16})"
_SUBJECT: Final = re.compile(f"{_LABEL}(?:~{_LABEL})*@[0-9]{{1,15}}")
_TIME: Final = re.compile(r"[0-9]{1,15}")
_ID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_KNOWN: Final = frozenset({"subjects", "until", "after"})
_READS: Final = frozenset({Act.READ, Act.COPY})


class LedgerReads:
    """Reads what was read of one cluster's weights out of a ledger."""

    def __init__(self, ledger: LedgerQueries, cluster: str) -> None:
        self._ledger = ledger
        self._cluster = cluster

    async def page(
        self, subjects: Sequence[ReadsSubject], until_ms: int, after: str = ""
    ) -> ReadsPage:
        """Return the sums of ROWS accesses, after the id of the page before.

        Raises:
            LedgerError: the ledger cannot be read.
        """
        found = await self._ledger.documents(
            FrameKind.ACCESS,
            uuid7_unix_ms(after) if after else min(each.since_ms for each in subjects),
            until_ms,
            cluster=self._cluster,
            after=(bytes.fromhex(after.replace("-", "")), self._cluster) if after else None,
            limit=ROWS,
        )
        sums: dict[tuple[str, str], StoreReads] = {}
        for document in found:
            for subject, reads in _reads_of(decode_access(document.payload), subjects):
                key = (subject, reads.store)
                sums[key] = join_reads(sums[key], reads) if key in sums else reads
        last = str(uuid.UUID(bytes=found[-1].id)) if len(found) == ROWS else ""
        return ReadsPage(
            FORMAT, [IdentityReads(subject, each) for (subject, _), each in sums.items()], last
        )


def make_reads_answerer(ledger: LedgerQueries) -> Callable[[Question], Awaitable[bytes]]:
    """Return what answers at PATH: of the cluster alone whose certificate asks."""

    async def answer(question: Question) -> bytes:
        given = question.parameters
        if unknown := sorted(given.keys() - _KNOWN):
            raise BadQuestionError(f"{unknown[0][:64]!r}: there is no such parameter; leave it out")
        until, after = given.get("until", ""), given.get("after", "")
        if not _TIME.fullmatch(until):
            raise BadQuestionError("until: give milliseconds")
        if after and not _ID.fullmatch(after):
            raise BadQuestionError("after: give an id")
        reads = LedgerReads(ledger, question.cluster)
        page = await reads.page(_subjects(given.get("subjects", "")), int(until), after)
        return msgspec.json.encode(page)

    return answer


def _subjects(text: str) -> list[ReadsSubject]:
    words = text.split(",")
    if text.count(":") > MOST_LABELS or not all(map(_SUBJECT.fullmatch, words)):
        raise BadQuestionError(
            f"subjects: give oid:…@MS, client:…@MS or user:…@MS, {MOST_LABELS} at most"
        )
    split = (word.rpartition("@") for word in words)
    return [ReadsSubject(tuple(labels.split("~")), int(since)) for labels, _, since in split]


def _reads_of(access: Access, subjects: Sequence[ReadsSubject]) -> Iterator[tuple[str, StoreReads]]:
    """Yield what an access adds to each identity whose it is."""
    if not access.store or access.act not in _READS or not access.succeeded:
        return
    at, attribution = uuid7_unix_ms(access.id), access.attribution
    own = {f"oid:{access.principal}", f"client:{access.application}", f"oid:{access.delegator}"}
    theirs = {pod.requester.lower() for pod in attribution.pods}
    for subject in subjects:
        signed = not own.isdisjoint(subject.labels)
        if at < subject.since_ms or not (signed or not theirs.isdisjoint(subject.labels)):
            continue
        sure = signed or attribution.confidence is Confidence.EXACT
        made = StoreReads(
            store=access.store,
            reads=1,
            bytes=access.bytes_out,
            first=access.time,
            last=access.time,
            ungranted=int(bool(access.ungranted)),
            by_pods=int(not signed),
            unsure=int(not sure),
        )
        yield subject.labels[0], made
