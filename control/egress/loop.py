"""The loop that keeps the policies of enrolled namespaces as their allowlists say.

Each run takes what the watches have brought since the last one, and looks at the namespaces that it
concerns: what must close first, then what opens, then the rest of a look at all of them.
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

import structlog

from control.egress.cluster_state import CLUSTER, EgressState
from control.egress.dns_logs import DnsLogs
from control.egress.dns_pods import DnsPods
from control.egress.dns_refresh import DnsRefresh
from control.egress.endings import Endings
from control.egress.lookups import EgressLookups
from control.egress.metrics import EgressMetrics
from control.egress.queue import NamespaceQueue, NamespaceTimes
from control.egress.reconciler import ClusterPolicies, NamespaceOutcome, Reconciler
from control.egress.service_tags import TagFile
from control.loop import Loop, describe
from core.base.errors import NotLeaderError, NotSyncedError, SallyportError
from core.base.safe_text import traceback_places
from egress.model.facts import CompilerFacts
from kube.leader.lease import Leadership

INTERVAL_S: Final = 0.2
FACTS_S: Final = 0.25
RESYNC_S: Final = 600.0
"""All namespaces are looked at so often, whatever the watches have brought."""
AT_ONCE: Final = 8
"""Namespaces that are looked at at the same time."""
LONGEST_S: Final = 30.0
"""One run; what is left then is the next one's."""
SYNC_S: Final = 20.0
"""So long a run waits for the watches at first."""
WAITS_S: Final = 10.0
"""A namespace with Pods that cannot be evicted yet is looked at again after so long."""
MOST_FACTS: Final = 64
"""Answers that one run asks for again."""

_log = structlog.get_logger(__name__)


@dataclass
class Egress:
    """The loops of egress: `loop` and `facts_loop`; that of names is `naming.loop`."""

    state: EgressState
    reconciler: Reconciler
    naming: DnsRefresh
    tags: TagFile
    metrics: EgressMetrics
    known: CompilerFacts
    """What does not change while the process runs: the cluster's ranges."""
    floor: ClusterPolicies
    queue: NamespaceQueue = field(default_factory=NamespaceQueue)
    dns_pods: DnsPods | None = None
    """Finds the Pods of DNS, where they are asked for names."""
    dns_logs: DnsLogs | None = None
    """Follows the logs of these Pods, where that is set."""
    endings: Endings | None = None
    """Tells that allowlists end."""
    clock: Callable[[], float] = time.time
    elapsed: Callable[[], float] = time.monotonic
    outcomes: dict[str, NamespaceOutcome] = field(default_factory=dict)
    _times: NamespaceTimes = field(default_factory=NamespaceTimes)
    _problems: dict[str, str] = field(default_factory=dict)
    _shown: bool = False
    _resynced: float | None = None
    _resync_began: float | None = None

    @property
    def facts(self) -> EgressLookups:
        """What is asked for."""
        return self.reconciler.wanting.facts

    @property
    def loop(self) -> Loop:
        """The loop that writes."""
        return Loop("egress", INTERVAL_S, self.run, forget=self.forget)

    @property
    def loops(self) -> list[Loop]:
        """All of them."""
        pods = [self.dns_pods.loop] if self.dns_pods else []
        logs = [self.dns_logs.loop] if self.dns_logs else []
        ends = [self.endings.loop] if self.endings else []
        return [self.loop, self.facts_loop, self.naming.loop, *pods, *logs, *ends]

    @property
    def facts_loop(self) -> Loop:
        """The loop that asks again."""
        return Loop("egress-facts", FACTS_S, self.refresh)

    async def run(self, leadership: Leadership) -> None:
        """Look at the namespaces that are due.

        Raises:
            NotSyncedError: the watches have not loaded, or are too old.
            ClusterError: what was learnt of names cannot be read.
            NotLeaderError: leadership was lost on the way.
        """
        leadership.require()
        await self._synced()
        await self.naming.load()
        self._take()
        until = self.elapsed() + LONGEST_S
        while self.elapsed() < until:
            due = self.queue.take(AT_ONCE, self.elapsed())
            if not due:
                self._end_resync()
                break
            await asyncio.gather(*(self._look(leadership, each) for each in due))
            leadership.require()
            self.state.world.require()
            self._take()
        self._show()

    async def refresh(self, leadership: Leadership) -> None:
        """Ask again for what is old, or has changed.

        Raises:
            NotSyncedError: the watches have not loaded, or are too old.
            NotLeaderError: leadership was lost on the way.
        """
        leadership.require()
        await self._synced()
        facts, state = self.facts, self.state
        referred = state.referred()
        services = await facts.services.refresh(referred.services, MOST_FACTS)
        rights = await facts.rights.refresh(referred.rights, MOST_FACTS)
        for service in services:
            self._add(state.referring("service", service))
        for right in rights:
            self._add(state.referring("right", right))
        if self.reconciler.glass is not None:
            named = self.reconciler.glass.reconsider()
            self._add({each for each in named if state.closure_of(each).closes}, at_once=True)
        self._add(self.reconciler.wanting.reconsider(self.clock()))

    def forget(self) -> None:
        """Forget what only a leader knows."""
        self.queue.clear()
        self._times.clear()
        self.outcomes.clear()
        self.facts.clear()
        self.state.clear()
        self._problems.clear()
        if self.reconciler.glass is not None:
            self.reconciler.glass.forget()
        self.reconciler.forget()
        self._resynced = self._resync_began = None
        self.metrics.forget()

    async def _synced(self) -> None:
        """Wait for the watches, which load when the process starts.

        Those of BreakGlasses only then: without them nothing is open by one.

        Raises:
            NotSyncedError: they have not loaded, or are too old.
        """
        until = self.elapsed() + SYNC_S
        while True:
            try:
                self.state.world.require()
            except NotSyncedError:
                if self._resynced is not None or self.elapsed() >= until:
                    raise
            else:
                if self._resynced is not None or self.elapsed() >= until or self._knows_glass():
                    return
            await asyncio.sleep(0.05)

    def _knows_glass(self) -> bool:
        try:
            if self.reconciler.glass is not None:
                self.reconciler.glass.require()
        except NotSyncedError:
            return False
        return True

    def _add(self, namespaces: frozenset[str] | set[str], *, at_once: bool = False) -> None:
        for each in sorted(namespaces):
            self.queue.add(each, urgent=True, at_once=at_once)

    def _take(self) -> None:
        """Take in what has happened: events, times that have come, another file of tags."""
        namespaces, services = self.state.take()
        self._add(namespaces)
        for service in services:
            self.facts.services.distrust(service)
        # An end must close in a namespace that keeps failing, too; each time comes once.
        self._add(set(self._times.due(self.clock())), at_once=True)
        now = self.elapsed()
        if self.tags.look(now):
            self._resynced = None
        if self._resynced is None or now - self._resynced >= RESYNC_S:
            self._resynced = self._resync_began = now
            self.reconciler.wanting.approvals.keep(self.state.uids())
            for each in (CLUSTER, *sorted(self.state.namespaces())):
                self.queue.add(each)

    def _end_resync(self) -> None:
        if self._resync_began is not None:
            self.metrics.resynced(self.elapsed() - self._resync_began)
            self._resync_began = None

    async def _look(self, leadership: Leadership, namespace: str) -> None:
        """Look at one namespace; whatever happens there, the others are looked at too."""
        self.metrics.look()
        self._shown = False
        known = self._known()
        problem = ""
        try:
            outcome = await self._outcome(leadership, namespace, known)
        except NotLeaderError:
            return
        except SallyportError as error:
            problem = str(error)
        except Exception as error:  # noqa: BLE001 -- whatever it is, the other namespaces go on
            problem = f"{describe(error)} at {', '.join(traceback_places(error))}"
        else:
            problem = "; ".join(outcome.failures)
            self._note(namespace, outcome)
        self._tell(namespace, problem)
        if problem:
            self.queue.fail(namespace, self.elapsed())
        else:
            self.queue.succeed(namespace)

    async def _outcome(
        self, leadership: Leadership, namespace: str, known: CompilerFacts
    ) -> NamespaceOutcome:
        if namespace == CLUSTER:
            return await self.floor.run(leadership)
        failed = self.queue.failures(namespace)
        before = self.reconciler.wanting.beyond.get(namespace, ())
        outcome = await self.reconciler.run(leadership, namespace, known, failed)
        if self.reconciler.wanting.beyond.get(namespace, ()) != before:
            self.queue.add(CLUSTER, urgent=True)
        return outcome

    def _known(self) -> CompilerFacts:
        """Return what is known now; what is derived of service tags stays with the same file."""
        if self.known.tags is not self.tags.source:
            self.known = replace(self.known, tags=self.tags.source, _tag_blocks={})
        return replace(self.known, now=self.clock(), sets=self.state.sets, names=self.naming.source)

    def _note(self, namespace: str, outcome: NamespaceOutcome) -> None:
        self.metrics.write(outcome.writes)
        ends = [each for each in (outcome.ends,) if each is not None]
        if outcome.waits:
            ends.append(self.clock() + WAITS_S)
        self._times.set(namespace, min(ends, default=None))
        if outcome == NamespaceOutcome():
            self.outcomes.pop(namespace, None)
        else:
            self.outcomes[namespace] = outcome

    def _tell(self, namespace: str, problem: str) -> None:
        """Log a trouble once, and that it is over."""
        if problem and self._problems.get(namespace) != problem:
            _log.warning(
                "egress of a namespace: trying again", namespace=namespace, problem=problem
            )
        if problem:
            self._problems[namespace] = problem
        elif self._problems.pop(namespace, ""):
            _log.info("egress is as wanted again", namespace=namespace)

    def _show(self) -> None:
        self.metrics.resolver(self.naming.failures)
        self.metrics.learning(*self.naming.learning())
        if self._shown:
            return
        self._shown = True
        self.metrics.show(
            self.outcomes.values(),
            len(self.state.referred_names()),
            self.queue.failing,
            tags=not self.tags.problem,
        )
