"""The loop that looks back on identities that came to be at risk.

The ledger keeps what is found, and namespaces are told. It ends nothing that it finds: people
decide that (docs/operate/look-back.md).
"""

import asyncio
import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final, Protocol

import structlog
from prometheus_client import CollectorRegistry, Counter, Gauge

from control.loop import Loop
from control.risk.look_back.events import LookBackEvents
from control.risk.look_back.search import Sources, look_back
from control.risk.look_back.store import (
    MOST,
    LookBackMemory,
    MemoryStore,
    begin_look_back,
    document_id,
    finish_look_back,
)
from core.base.errors import LedgerError, NotRecordedError
from core.base.ids import uuid7, uuid7_unix_ms
from core.risk.look_back import LookBackDocument
from core.risk.snapshot import RiskSnapshot
from identity.look_back.subjects import (
    IdentityAtRisk,
    clients_of,
    due_identities,
    identity_at_risk,
    keys_at_risk,
)
from kube.leader.lease import Leadership

INTERVAL_S: Final = 5.0

LONGEST_S: Final = 3600.0

APART_S: Final = 60.0
"""From one look back to the next: identities that become risky one after another share a pass."""

MOST_AT_ONCE: Final = 200
"""Identities of one pass; the next pass takes the rest."""

PATIENCE_S: Final = 900.0
"""So long an auditor that does not answer is waited for; then it goes on without, and says so."""

_BREATH: Final = 500
"""Entries looked at before other work has a turn."""

_RECORD_AGAIN_S: Final = 1.0
_SETTLED_S: Final = 0.02
_AUDITOR_AWAY: Final = (
    "the auditor did not answer: who entered what, which credentials and rights were made, what is "
    "gone and what was read of the weights is not known; ask again with `sallyport risk look-back`"
)

_log = structlog.get_logger(__name__)


class Records(Protocol):
    """Keeps documents: `audit.ledger.records.recorder.LedgerRecorder`."""

    def record_look_back(self, document: LookBackDocument) -> None:
        """Keep one.

        Raises:
            NotRecordedError: it cannot be kept now.
        """


class LookBackMetrics:
    """What Prometheus sees; the gauge is the leader's."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._done = Counter(
            "sallyport_look_backs",
            "Identities at risk that were looked back on, by whether anything was found.",
            ("result",),
            registry=registry,
        )
        self._waiting = Gauge(
            "sallyport_look_backs_waiting",
            "Identities at risk that are still to be looked back on; NaN where another replica "
            "leads.",
            registry=registry,
        )
        for result in ("found", "nothing"):
            self._done.labels(result)
        self.forget()

    def forget(self) -> None:
        """Show nothing: this process does not lead."""
        self._waiting.set(math.nan)

    def wait(self, count: int) -> None:
        """Show how many wait."""
        self._waiting.set(count)

    def count(self, *, found: bool) -> None:
        """Count one that was looked back on."""
        self._done.labels("found" if found else "nothing").inc()


@dataclass
class LookBacks:
    """The loop of one process; `loop` is what the runner takes."""

    risk: Callable[[], RiskSnapshot | None]
    """The snapshot in memory; None where identity is not enabled."""
    sources: Sources
    memory: MemoryStore
    telling: LookBackEvents
    records: Records | None
    """None where nothing is recorded: then Events and the log say what was found."""
    settled: Callable[[], bool]
    """Whether all that was recorded survives this process."""
    metrics: LookBackMetrics
    now: Callable[[], float]
    days: int
    _seen: int | None = field(default=None, init=False)
    _next: float = field(default=0.0, init=False)

    @property
    def loop(self) -> Loop:
        """Return the control loop."""
        return Loop("look-back", INTERVAL_S, self.run, LONGEST_S, self._forget)

    async def run(self, leadership: Leadership) -> None:
        """Look back on all that came to be at risk, if there are any and it is time.

        Raises:
            ClusterError: kube-apiserver does not answer; what is not done is done next time.
            LedgerError: the auditor does not answer.
            NotLeaderError: the term is over.
        """
        snapshot, now = self.risk(), self.now()
        if snapshot is None or snapshot.head.version in {0, self._seen} or now < self._next:
            return  # Version 0 is that of a snapshot that is not loaded yet.
        risky = await self._risky(snapshot, now)
        memory = await self.memory.load()
        waiting = due_identities(risky.values(), memory.done)
        self.metrics.wait(len(waiting))
        resumed = [risky[key] for key in memory.of or {} if key in risky]
        if not memory.running and waiting:
            resumed = waiting[:MOST_AT_ONCE]
            running = uuid7(int(now * 1000))
            memory = await self.memory.save(leadership, begin_look_back(memory, resumed, running))
        if memory.running:
            await self._do(leadership, memory, resumed)
            memory = await self.memory.save(leadership, finish_look_back(memory, risky))
            self._next = self.now() + APART_S
        left = due_identities(risky.values(), memory.done)
        self.metrics.wait(len(left))
        if not left:
            self._seen = snapshot.head.version

    async def _risky(self, snapshot: RiskSnapshot, now: float) -> dict[bytes, IdentityAtRisk]:
        found: dict[bytes, IdentityAtRisk] = {}
        clients = clients_of(snapshot)
        for number, key in enumerate(keys_at_risk(snapshot), 1):
            if key is not None and key not in found:
                risen = identity_at_risk(snapshot, key, now, self.days, clients)
                if risen is not None:
                    found[key] = risen
            if number % _BREATH == 0:
                await asyncio.sleep(0)
        if len(found) > MOST:
            _log.error("too many identities are at risk: the oldest risks are not looked back on")
            latest = sorted(found.values(), key=lambda each: each.since, reverse=True)
            return {each.key: each for each in latest[:MOST]}
        return found

    async def _do(
        self, leadership: Leadership, memory: LookBackMemory, risen: list[IdentityAtRisk]
    ) -> None:
        documents = await self._look_back(memory, risen)
        for document in documents:
            if not document.is_empty:
                await self._keep(leadership, document)
            self.metrics.count(found=not document.is_empty)
        while not self.settled():  # noqa: ASYNC110 -- the spool has a thread, not an event
            await asyncio.sleep(_SETTLED_S)

    async def _look_back(
        self, memory: LookBackMemory, risen: list[IdentityAtRisk]
    ) -> list[LookBackDocument]:
        def id_of(each: IdentityAtRisk) -> str:
            return document_id(memory.running, each.key)

        try:
            return await look_back(self.sources, risen, id_of, self.now())
        except LedgerError as error:
            if self.now() < uuid7_unix_ms(memory.running) / 1000 + PATIENCE_S:
                raise
            _log.error("looking back goes on without the auditor", why=str(error))
        without = replace(
            self.sources, acts=None, reads=None, gaps=(*self.sources.gaps, _AUDITOR_AWAY)
        )
        return await look_back(without, risen, id_of, self.now())

    async def _keep(self, leadership: Leadership, document: LookBackDocument) -> None:
        await self._record(leadership, document)
        untold = await self.telling.tell(leadership, document)
        _log.warning(
            "an identity at risk left something behind",
            subject=document.subject,
            standing=document.standing,
            look_back=document.id,
            items=len(document.items) + document.more_items,
            stores_read=len(document.reads),
            namespaces=len(document.namespaces),
            untold=untold,
            see=f"sallyport risk look-back {document.subject}",
        )

    async def _record(self, leadership: Leadership, document: LookBackDocument) -> None:
        """Record it, however long it takes until that is possible again."""
        said = False
        while self.records is not None:
            leadership.require()
            try:
                self.records.record_look_back(document)
            except NotRecordedError as error:
                if not said:
                    _log.error("looking back waits: nothing can be recorded", why=str(error))
                    said = True
                await asyncio.sleep(_RECORD_AGAIN_S)
            else:
                return

    def _forget(self) -> None:
        self._seen, self._next = None, 0.0
        self.metrics.forget()
