"""The sweep: one pass after another over all Pods, taken up where the last leader left it."""

from dataclasses import dataclass

import structlog
from msgspec.structs import replace

from control.sweep.parts import SweepParts
from control.sweep.progress import Progress
from control.sweep.run import SweepRun, begin
from core.decision.document import uuid7_unix_ms
from kube.leader.lease import Leadership

_log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Sweep:
    """Sweeps one cluster. `run` is the body of a control loop that asks more often than it is due.

    What one run may leave undone, at any moment, the next one does; what it does twice is the
    same both times.
    """

    parts: SweepParts

    async def run(self, leadership: Leadership) -> None:
        """Finish the sweep that was begun; or begin one, if it is due; or return at once.

        Raises:
            ClusterError: kube-apiserver does not answer; call again, and it goes on from there.
            NotLeaderError: the term is over.
        """
        cursor, problem = await self.parts.cursors.load()
        if problem:
            _log.error("the sweep begins anew: where it had stopped cannot be read", why=problem)
        self.parts.metrics.show_last(cursor.last, self.parts.settings.interval_s)
        if cursor.running is not None and not self._is_ahead(cursor.running.sweep):
            progress = self._go_on(cursor.running)
        elif cursor.running or cursor.last is None or self._is_due(cursor.last.id):
            progress = begin(self.parts)
        else:
            return
        self.parts.metrics.show_progress(progress)
        await SweepRun(self.parts, leadership, cursor, progress).finish()

    def _go_on(self, progress: Progress) -> Progress:
        self.parts.metrics.count_interruption()
        _log.info("the sweep goes on", sweep=progress.sweep, objects=progress.seen)
        return replace(progress, interruptions=progress.interruptions + 1)

    def _is_due(self, last: str) -> bool:
        due = uuid7_unix_ms(last) / 1000 + self.parts.settings.interval_s
        return self.parts.now() >= due or self._is_ahead(last)

    def _is_ahead(self, sweep: str) -> bool:
        """Say whether a sweep began later than the next one would: by a clock that was wrong."""
        ahead = uuid7_unix_ms(sweep) / 1000 > self.parts.now() + self.parts.settings.interval_s
        if ahead:
            _log.error("the sweep begins anew: the one on record is of the future", sweep=sweep)
        return ahead
