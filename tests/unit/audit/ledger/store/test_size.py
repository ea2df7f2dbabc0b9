"""How fast decisions are stored, and found among millions of them. Times are asserted in proofs."""

import asyncio
import resource
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from audit.ledger.store.decisions import MOST_ROWS, DecisionQuery
from audit.ledger.store.store import Store
from core.decision.decision import Verdict
from core.decision.document import decode_document
from tests.harness.evidence import record
from tests.harness.sizes import PROOF, size
from tests.unit.audit.ledger.store.busy_cluster import BATCH, BUSIEST, QUIET, crowd
from tests.unit.audit.ledger.store.conftest import Sql, clock
from tests.unit.audit.ledger.store.documents import CLUSTER, NOW_MS

DAY_MS = 86_400_000
DAYS = 10
LEAST_RATE = 20_000
MOST_MS = 200
ASKED = 7

DENIALS = frozenset({Verdict.DENY})
TODAY = NOW_MS // DAY_MS * DAY_MS
ALL = f"all {BUSIEST} denials today, in one page"
QUESTIONS = {
    f"denials in {BUSIEST} today": DecisionQuery(
        namespace=BUSIEST, verdicts=DENIALS, since_ms=TODAY
    ),
    ALL: DecisionQuery(namespace=BUSIEST, verdicts=DENIALS, since_ms=TODAY, limit=MOST_ROWS),
    f"denials in {QUIET} today": DecisionQuery(namespace=QUIET, verdicts=DENIALS, since_ms=TODAY),
    "denials anywhere": DecisionQuery(verdicts=DENIALS),
    "what a rule found": DecisionQuery(rule="privileges/host/network"),
    "what a service account asked for": DecisionQuery(
        requesters=(f"system:serviceaccount:{BUSIEST}:runner-1",)
    ),
    "the newest": DecisionQuery(),
}
REPORT: list[str] = []


@dataclass
class Stored:
    """What was stored, and how fast."""

    wanted: int = 0
    """Denials of today in the busiest namespace."""
    size: int = 0
    pod: str = ""
    """The name of one."""
    bytes: int = 0
    seconds: list[float] = field(default_factory=list)
    """Of each batch, in `deliver`."""
    cpu_seconds: float = 0.0

    def rates(self, parts: int) -> list[int]:
        """Return decisions a second in each of so many parts, in the order of time."""
        per = len(self.seconds) // parts
        return [
            round(BATCH * per / sum(self.seconds[n * per : n * per + per])) for n in range(parts)
        ]


async def fill(store: Store, count: int) -> Stored:
    """Deliver so many decisions of the last ten days, one batch after the other."""
    stored = Stored()
    for frames in crowd(count, NOW_MS - DAYS * DAY_MS, NOW_MS):
        usage, began = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
        receipt = await store.deliver(CLUSTER, frames)
        stored.seconds.append(time.perf_counter() - began)
        used = resource.getrusage(resource.RUSAGE_SELF)
        stored.cpu_seconds += used.ru_utime + used.ru_stime - usage.ru_utime - usage.ru_stime
        assert receipt.stored == len(frames)
        stored.size += len(frames)
        for frame in frames:
            stored.pod = stored.pod or decode_document(frame.payload).request.name
            stored.bytes += len(frame.payload)
            stored.wanted += (
                b'"verdict":"deny"' in frame.payload
                and f'"namespace":"{BUSIEST}","name"'.encode() in frame.payload
                and int.from_bytes(frame.id[:6]) >= TODAY
            )
    return stored


async def ask(store: Store, query: DecisionQuery) -> tuple[int, list[float]]:
    """Ask several times; give how many were found, and the milliseconds of each."""
    times = []
    for _ in range(ASKED):
        began = time.perf_counter()
        found = await store.find(query)
        times.append((time.perf_counter() - began) * 1000)
    return len(found), times


def told(stored: Stored, answers: dict[str, tuple[int, list[float]]]) -> Iterator[str]:
    """Yield the lines of the evidence."""
    rates = stored.rates(20)
    seconds = sum(stored.seconds)
    yield (
        f"- {stored.size:,} decisions of {stored.bytes // stored.size} bytes, all through "
        f"`Store.deliver` in batches of {BATCH}: {stored.size / seconds:,.0f} a second over all; "
        f"in twentieths: median {statistics.median(rates):,.0f}, least {min(rates):,}, "
        f"most {max(rates):,}, first {rates[0]:,}, last {rates[-1]:,}"
    )
    each = stored.cpu_seconds / stored.size * 1e6
    yield f"- CPU of this process in `deliver`: {each:.1f} µs for each decision"
    yield ""
    yield "| Question | Found | First, ms | Median, ms | Worst, ms |"
    yield "| --- | --- | --- | --- | --- |"
    for question, (found, times) in answers.items():
        shown = (times[0], statistics.median(times), max(times))
        yield f"| {question} | {found} | {' | '.join(f'{ms:.1f}' for ms in shown)} |"


@pytest.mark.proof
async def test_decisions_are_stored_and_found_fast(url: str, sql: Sql) -> None:
    """20,000 a second; denials in a namespace today among ten million in 200 ms."""
    count = size(ci=40_000, proof=10_000_000)
    async with Store(url, clock) as store:
        stored = await fill(store, count)
    if PROOF:
        await asyncio.sleep(60)  # Let the server's own vacuum and checkpoint finish.
    async with Store(url, clock) as store:  # Nothing is in this process's caches.
        questions = {**QUESTIONS, "what a Pod of a name met": DecisionQuery(name=stored.pod)}
        answers = {name: await ask(store, query) for name, query in questions.items()}
    found, *_ = answers[ALL]
    assert found == min(stored.wanted, MOST_ROWS)
    few = set() if PROOF else {f"denials in {QUIET} today"}
    assert all(found for question, (found, _) in answers.items() if question not in few)
    assert sql("SELECT count(*) FROM decisions") == [(count,)]
    if PROOF:
        REPORT.extend(["", f"## {url.partition(':')[0]}", "", *told(stored, answers)])
        record("ledger-store", REPORT)
        assert statistics.median(stored.rates(20)) >= LEAST_RATE
        for question in (f"denials in {name} today" for name in (BUSIEST, QUIET)):
            assert max(answers[question][1]) < MOST_MS
        # Thousands of documents, each on a page of its own: the first time the disk is slower.
        assert statistics.median(answers[ALL][1]) < MOST_MS
