"""Polls Microsoft Graph for Entra ID's risk and keeps it in the snapshot; the leader's loop.

Where to go on is in the snapshot, beside what was read: whoever leads next goes on there. A problem
is logged once, and stands in the snapshot's head.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Final

import msgspec
import structlog
from prometheus_client import CollectorRegistry

from control.loop import Loop
from control.risk.poll.metrics import PollMetrics
from control.risk.poll.snapshot import SnapshotWriter
from core.base.errors import EntraError
from core.risk.snapshot import Coverage
from identity.clients.graph import Graph, GraphAnswer, GraphSettings
from identity.clients.tokens import SignIn, Tokens
from identity.entra.graph_answers import RESTING, read_page
from identity.entra.graph_requests import PollIntervals, Resource
from identity.entra.poll_schedule import FIRST, PollPass, PollSchedule
from identity.entra.snapshot_merge import HeardPage, ListedPrincipals, coverages_of
from kube.leader.lease import Leadership
from kube.risk.store import RiskStore

_AT_ONCE: Final = frozenset({"token", "unauthorized", "redirected"})
"""Kinds that waiting does not mend either, but that concern every resource."""

_STRIKES: Final = 2
"""Failures in a row after which a trouble that may pass is spoken of."""

_log = structlog.get_logger(__name__)

ROUND_S: Final = 60.0
"""So long one run of the loop goes on."""

GATHER_S: Final = 10.0
"""So long pages of a pass over everybody are gathered: what only changed is written at once."""

SKEWED_S: Final = 300.0
"""Clocks that are further apart are spoken of."""

_LISTED: Final = (*FIRST, Resource.GUESTS)
_MOST_WAIT_S: Final = 1.0
_LEAST_WAIT_S: Final = 0.05

Ids = Callable[[], Collection[str]]


@dataclass(frozen=True, slots=True)
class PollSettings:
    """As whom, where, and how often Graph is asked."""

    sign_in: SignIn
    graph: GraphSettings = field(default_factory=GraphSettings)
    times: PollIntervals = field(default_factory=PollIntervals)
    guests: bool = False
    """Whether guests are asked for, too; it needs one more permission."""

    @property
    def tenant(self) -> str:
        """The tenant's id, as snapshots have it."""
        return self.sign_in.tenant.lower()


class PollProblems:
    """What is wrong now, with one resource or with all of them."""

    def __init__(self) -> None:
        self._own: dict[Resource, EntraError] = {}
        self._unreadable: dict[Resource, str] = {}
        self._common = ""
        self._strikes: Counter[Resource] = Counter()
        """Failures of each since it was last answered."""
        self._common_strikes = 0
        """Failures of any since any was answered."""

    def add(self, resource: Resource, error: EntraError) -> None:
        """Take in that a request failed."""
        self._strikes[resource] += 1
        if error.kind in RESTING or self._strikes[resource] >= _STRIKES:
            self._say(resource.value, str(error), before=str(self._own.get(resource, "")))
            self._own[resource] = error
        if error.kind in RESTING:
            return
        self._common_strikes += 1
        if error.kind in _AT_ONCE or self._common_strikes >= _STRIKES:
            self._say("all", str(error), before=self._common)
            self._common = str(error)

    def remove(self, resource: Resource, unreadable: int = 0) -> None:
        """Take in that a request was answered, and how many of its objects could not be read."""
        if self._common or resource in self._own:
            _log.info("Graph is read again", resource=resource.value)
        self._common, self._common_strikes = "", 0
        self._strikes.pop(resource, None)
        self._own.pop(resource, None)
        before = self._unreadable.pop(resource, "")
        if unreadable:
            text = f"Graph, {resource.value}: objects that cannot be read were left out"
            self._say(resource.value, text, before)
            self._unreadable[resource] = text

    def clear(self) -> None:
        """Forget everything."""
        self._own.clear()
        self._unreadable.clear()
        self._strikes.clear()
        self._common, self._common_strikes = "", 0

    def told_in(self, coverages: Mapping[Resource, Coverage]) -> dict[Resource, Coverage]:
        """Return how far each resource is known, with what is wrong."""
        return {each: self._told(each, coverage) for each, coverage in coverages.items()}

    def _told(self, resource: Resource, coverage: Coverage) -> Coverage:
        own = self._own.get(resource)
        text = str(own) if own else self._common or self._unreadable.get(resource, "")
        unlicensed = own is not None and own.kind == "licence"
        return msgspec.structs.replace(coverage, problem=text, unlicensed=unlicensed)

    def _say(self, resource: str, text: str, before: str) -> None:
        if text != before:
            _log.warning("Graph is not read as it should be", resource=resource, problem=text)


def _no_ids() -> Collection[str]:
    return ()


@dataclass
class RiskPoller:
    """Asks Graph while this process leads, and writes what it told into the snapshot."""

    settings: PollSettings
    graph: Graph
    writing: SnapshotWriter
    in_use: Ids = _no_ids
    """Ids of applications: client ids that workloads use, object ids of pipelines."""
    clock: Callable[[], float] = time.time
    elapsed: Callable[[], float] = time.monotonic
    _term: Leadership | None = None
    _plan: PollSchedule | None = None
    _problems: PollProblems = field(default_factory=PollProblems)
    _used: Collection[str] | None = None
    _forgot_at: float = 0.0
    _is_skewed: bool = False

    @property
    def loop(self) -> Loop:
        """Its loop."""
        longest_s = 2 * (ROUND_S + self.settings.graph.timeout_s)
        return Loop("risk", 1.0, self.run, longest_s, self.forget)

    async def close(self) -> None:
        """Close connections."""
        await self.graph.close()

    def forget(self) -> None:
        """Forget what only a leader knows."""
        self._term = self._plan = None
        self._used = None
        self._problems.clear()
        self.writing.metrics.forget()

    async def run(self, leadership: Leadership) -> None:
        """Ask for one round. What goes wrong with Entra is said in the snapshot, and not raised.

        Raises:
            ClusterError: the snapshot could not be read or written; it is tried again.
            InvalidObjectError: more identities are at risk than the snapshot can hold.
            NotLeaderError: leadership was lost on the way.
        """
        leadership.require()
        plan = await self._begun(leadership)
        until = self.elapsed() + ROUND_S
        await self._flush(leadership, plan)
        while self.elapsed() < until:
            self._use(plan)
            wait = self.graph.wait_s
            found = plan.next(self.elapsed()) if wait <= _LEAST_WAIT_S else None
            if found is not None:
                await self._ask(leadership, plan, found)
                continue
            await self._flush(leadership, plan)
            wait = max(wait, plan.wait_s(self.elapsed()))
            await asyncio.sleep(max(_LEAST_WAIT_S, min(wait, _MOST_WAIT_S)))

    async def _begun(self, leadership: Leadership) -> PollSchedule:
        """Return the plan of this term, made from what the snapshot says."""
        if self._plan is not None and self._term is leadership:
            return self._plan
        self.forget()
        self.graph.begin()
        snapshot = await self.writing.begin(leadership, self.settings.tenant)
        asked = (each for each in Resource if each is not Resource.GUESTS or self.settings.guests)
        known = coverages_of(snapshot.head, asked)
        site, times = self.settings.graph.site, self.settings.times
        self._plan = PollSchedule(site, times, known, wall=self.clock(), now=self.elapsed())
        self._term = leadership
        self._forgot_at = self.elapsed()
        return self._plan

    def _use(self, plan: PollSchedule) -> None:
        """Take in which applications are in use, where those are others than before."""
        used = self.in_use()
        if used != self._used:
            known = {guid for guid, _ in self.writing.snapshot.applications()}
            plan.waiting.use(used, known, self.elapsed())
            if left_out := plan.waiting.left_out:
                _log.error("too many applications are in use: not all are known", left_out=left_out)
            self._used = used

    async def _ask(self, leadership: Leadership, plan: PollSchedule, found: PollPass) -> None:
        """Ask for one page, and take in what comes of it."""
        resource, result, gathers = found.resource, "ok", False
        try:
            answer = await self.graph.get(resource, found.url, leadership.require)
            gathers = self._take(plan, found, answer)
        except EntraError as error:
            result = error.kind
            plan.failed(found, error, self.elapsed())
            self._problems.add(resource, error)
        self.writing.metrics.request(resource, result)
        if not gathers or self.elapsed() - self.writing.written_at >= GATHER_S:
            await self._flush(leadership, plan)

    def _take(self, plan: PollSchedule, found: PollPass, answer: GraphAnswer) -> bool:
        """Take in an answer; say whether the pass is one over everybody, and goes on.

        Raises:
            EntraError: it is none, or the next page lies elsewhere. What was read counts.
        """
        resource = found.resource
        page = read_page(answer.body, resource, self.settings.tenant)
        if page is None:
            self.graph.back_off()
            raise EntraError(f"Graph, {resource.value}: what was sent is no page", "unreadable")
        self.graph.succeeded()
        self._see_skew(answer.skew_s)
        self.writing.metrics.refuse(resource, page.unreadable, {})
        self.writing.add(HeardPage(resource, page.items, answer.now, found.asking))
        now = self.elapsed()
        complete = plan.answered(found, page, answer.asked_at, answer.now, now)
        self._problems.remove(resource, page.unreadable)
        if complete and found.full and resource in _LISTED:
            missed = self.writing.missed.get(resource, frozenset())
            self.writing.add(
                ListedPrincipals(resource, frozenset(found.listed), found.as_of or 0, missed)
            )
        return found.full and not complete

    async def _flush(self, leadership: Leadership, plan: PollSchedule) -> None:
        """Write what differs."""
        now, wall = self.elapsed(), self.clock()
        known = {each: plan.coverage(each, wall, now) for each in plan.resources}
        forgets = self._used is not None and self._is_time_to_forget(now)
        before = dict(self.writing.missed)
        coverages = self._problems.told_in(known)
        await self.writing.flush(leadership, coverages, plan.waiting if forgets else None)
        for resource, keys in self.writing.missed.items():
            if keys and keys is not before.get(resource):
                plan.confirm(resource, now)

    def _is_time_to_forget(self, now: float) -> bool:
        """Return whether client ids that nobody uses may go; whoever makes a Pod anew keeps his."""
        is_time = now - self._forgot_at >= self.settings.times.missing_s
        self._forgot_at = now if is_time else self._forgot_at
        return is_time

    def _see_skew(self, seconds: float) -> None:
        """Say once that the clocks are apart; what is known as of when is told by Graph's."""
        self.writing.metrics.skew(seconds)
        is_skewed = abs(seconds) > SKEWED_S
        if is_skewed and not self._is_skewed:
            _log.warning(
                "this machine's clock is not Graph's: set it right",
                ahead_s=round(seconds),
                why="gates judge by their clocks how old data is",
            )
        self._is_skewed = is_skewed


def build_poller(
    store: RiskStore,
    settings: PollSettings,
    registry: CollectorRegistry,
    in_use: Ids = _no_ids,
) -> RiskPoller:
    """Put the poller together; `close` it at the end."""
    graph = Graph(Tokens(settings.sign_in), settings.graph)
    writing = SnapshotWriter(store, PollMetrics(registry), settings.times.heartbeat_s)
    return RiskPoller(settings, graph, writing, in_use)
