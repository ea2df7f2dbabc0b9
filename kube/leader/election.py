"""Leader election by a Lease: of all processes that take part, at most one acts at any time.

**Why never two.** A leader counts its time from *before* it sent a renewal, so from before the
record changed; a candidate counts from *after* it saw the record, and takes over only what it has
seen unchanged for longer than the leader may act. Each counts by its own CLOCK_BOOTTIME; times
that are written down are for people. A write of the record names the version that it was read at.
What remains: a machine that is frozen *with its clock*, and a write that was already on its way;
for both, whoever leads writes with preconditions (`resourceVersion`).

**What becomes of a record that is not as usual.** Deleted: candidates put one there that nobody
holds and wait the whole duration; the leader steps down when its renewal finds it gone. Emptied,
or taken, by a stranger: the same. Edited but still the leader's: renewed as it is. Held by a
stranger who never renews: taken over after the time it states, at most `LONGEST_S`.
"""

import asyncio
import random
import uuid
from collections.abc import Awaitable, Callable
from http import HTTPStatus

import structlog

from core.base.errors import ClusterError, NotLeaderError, SettingsError
from core.base.safe_text import traceback_places
from kube.client.objects import Objects
from kube.leader.lease import (
    Clocks,
    Leadership,
    LeaseRecord,
    LeaseSettings,
    build_claim,
    build_release,
    build_unheld,
    read_record,
)

Lead = Callable[[Leadership], Awaitable[None]]

_log = structlog.get_logger(__name__)


class LeaseElection:
    """One process's part in an election; run `run` as a task."""

    def __init__(  # noqa: PLR0913, PLR0917 (a Lease is named by two, and the clocks are injected)
        self,
        objects: Objects,
        namespace: str,
        name: str,
        identity: str,
        settings: LeaseSettings | None = None,
        clocks: Clocks | None = None,
    ) -> None:
        """Take part as `identity` (the Pod's name), to which something random is added.

        `objects` is also what the leader's own writes go through: its timeout is part of why
        no two act.

        Raises:
            SettingsError: its timeout is longer than the settings' `call_timeout_s`.
        """
        self._settings = settings or LeaseSettings()
        if objects.timeout_s > self._settings.call_timeout_s:
            raise SettingsError(
                f"lease: requests of a leader may take {self._settings.call_timeout_s:g} s, not "
                f"{objects.timeout_s:g}; give the connection a shorter timeout"
            )
        self.identity = f"{identity}_{uuid.uuid4()}"
        """Never used before: a record that has it was written by this object."""
        self._objects = objects
        self._collection = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
        self._path = f"{self._collection}/{name}"
        self._new = build_unheld(namespace, name, self._settings)
        self._clocks = clocks or Clocks()
        self._leadership: Leadership | None = None
        self._problem = "no answer yet"

    def leads(self) -> bool:
        """Return whether this process leads, now."""
        return self._leadership is not None and self._leadership.holds()

    @property
    def problem(self) -> str:
        """Why the record cannot be read or written, for a person; empty when it can."""
        return self._problem

    async def run(self, lead: Lead) -> None:
        """Wait for leadership and await `lead`; when it is lost, cancel that and wait again.

        Returns when `lead` does while it leads. The record is given up once `lead` has ended,
        however that came about; a clean stop is to cancel this.

        Raises:
            Exception: what `lead` raised.
        """
        while True:
            record, leadership = await self._acquire()
            if await self._serve(record, leadership, lead):
                return

    async def _acquire(self) -> tuple[LeaseRecord, Leadership]:
        seen, since = "", 0.0
        while True:
            wait = self._settings.retry_s
            try:
                record = await self._read()
                now = self._clocks.elapsed()
                if record.version != seen:
                    seen, since = record.version, now
                patience = record.patience(self._settings)
                wait = since + patience - now if record.holder != self.identity else 0.0
                if wait <= 0 and (taken := await self._claim(record)):
                    return taken
                self._note("")
            except ClusterError as error:
                self._note(str(error))
            await asyncio.sleep(min(self._pause(), wait) if wait > 0 else self._pause())

    async def _read(self) -> LeaseRecord:
        body = await self._objects.get(self._path)
        if body is None:
            body = await self._objects.create(self._collection, self._new)
        return read_record(body)

    async def _claim(self, record: LeaseRecord) -> tuple[LeaseRecord, Leadership] | None:
        """Take the record over, unless somebody else was faster."""
        began = self._clocks.elapsed()
        try:
            taken = await self._put(record)
        except ClusterError as error:
            if error.status == HTTPStatus.CONFLICT:
                return None
            raise
        until = began + self._settings.deadline_s
        return taken, Leadership(taken.transitions, until, self._clocks.elapsed)

    async def _put(self, record: LeaseRecord) -> LeaseRecord:
        now = self._clocks.today()
        body = build_claim(record, self.identity, self._settings, now)
        return read_record(await self._objects.replace(self._path, body))

    async def _serve(self, record: LeaseRecord, leadership: Leadership, lead: Lead) -> bool:
        """Lead as long as it goes; say whether `lead` ended by itself."""
        self._leadership = leadership
        self._note("")
        _log.info("leading", term=leadership.term, identity=self.identity)
        leading = asyncio.ensure_future(lead(leadership))
        keeping = asyncio.create_task(self._keep(record, leadership))
        by_itself = False
        try:
            await asyncio.wait({leading, keeping}, return_when=asyncio.FIRST_COMPLETED)
            # Work that ends because it saw first that the term is over has not ended by itself.
            by_itself = leading.done() and leadership.holds()
        finally:
            leadership.end()
            keeping.cancel()
            leading.cancel()
            await asyncio.wait({leading, keeping})
            _log.info("not leading any more", term=leadership.term, identity=self.identity)
            await self._release()
        if by_itself:
            await leading
        elif not leading.cancelled() and (error := leading.exception()):
            _log_end(error)
        if not keeping.cancelled():
            keeping.result()
        return by_itself

    async def _keep(self, record: LeaseRecord, leadership: Leadership) -> None:
        """Renew the record until that fails for too long, or it is another's."""
        found: LeaseRecord | None = record
        while found and leadership.holds():
            await asyncio.sleep(min(self._pause(), leadership.remaining()))
            try:
                async with asyncio.timeout(leadership.remaining()):
                    found = await self._renew(found, leadership)
                    self._note("")
            except TimeoutError:
                self._note("the renewal was not answered in time")
            except ClusterError as error:
                self._note(str(error))

    async def _renew(self, record: LeaseRecord, leadership: Leadership) -> LeaseRecord | None:
        """Renew the record, as often as others edit it meanwhile; None when it is not ours."""
        while True:
            began = self._clocks.elapsed()
            try:
                renewed = await self._put(record)
            except ClusterError as error:
                if error.status not in {HTTPStatus.CONFLICT, HTTPStatus.NOT_FOUND}:
                    raise
                found = await self._ours()
                if found is None:
                    return None
                record = found
            else:
                leadership.extend(began + self._settings.deadline_s)
                return renewed

    async def _ours(self) -> LeaseRecord | None:
        body = await self._objects.get(self._path)
        record = read_record(body) if body is not None else None
        return record if record and record.holder == self.identity else None

    async def _release(self) -> None:
        """Release the record if it is ours; where that fails, it expires by itself."""
        try:
            async with asyncio.timeout(self._settings.call_timeout_s):
                if record := await self._ours():
                    body = build_release(record, self._clocks.today())
                    await self._objects.replace(self._path, body)
        except (ClusterError, TimeoutError):
            _log.warning("lease not released: the next leader waits until it runs out")

    def _note(self, problem: str) -> None:
        if problem and problem != self._problem:
            _log.warning("lease cannot be read or written: trying again", error=problem)
        self._problem = problem

    def _pause(self) -> float:
        return self._settings.retry_s * random.uniform(0.75, 1.0)  # noqa: S311 -- spreads load


def _log_end(error: BaseException) -> None:
    if not isinstance(error, NotLeaderError):
        _log.error(
            "leader's work ended badly", error=type(error).__name__, at=traceback_places(error)
        )
