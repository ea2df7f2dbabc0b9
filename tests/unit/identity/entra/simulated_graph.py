"""A plan that is followed: each request takes a second and a bit, by a clock that is simulated."""

import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlsplit

from core.base.errors import EntraError
from core.base.times import time_text
from core.risk.model import RiskEntry, RiskLevel, RiskState, identity_key
from core.risk.snapshot import Coverage
from identity.entra.graph_answers import GraphPage, RiskyPrincipal
from identity.entra.graph_requests import PollIntervals, Resource
from identity.entra.poll_schedule import PollPass, PollSchedule
from identity.entra.values import seconds_of

SITE = "https://graph.example"
WALL = 1_795_000_000.0
REQUEST_S = 1.05

ALL = tuple(each for each in Resource if each is not Resource.GUESTS)


ONE = str(uuid.UUID(int=1))
KNOWN = Coverage(as_of=WALL - 100, through=time_text(WALL - 200), full=WALL - 3600)


def known() -> dict[Resource, Coverage]:
    """Say that everything was known a while ago."""
    return dict.fromkeys(ALL, KNOWN)


def item(object_id: str, updated: float) -> RiskyPrincipal:
    """Return a risky user as Graph told of it."""
    entry = RiskEntry(level=RiskLevel.HIGH, state=RiskState.AT_RISK, updated=int(updated))
    return RiskyPrincipal(identity_key(object_id), entry, time_text(updated), object_id)


@dataclass(frozen=True)
class Request:
    """One that was sent."""

    at: float
    resource: Resource
    full: bool
    since: int
    """Of the filter; 0 without one."""
    page: int


Replies = Callable[[Request], GraphPage | EntraError]


def link(resource: Resource, page: int) -> str:
    """Return the address of a further page."""
    return f"{SITE}{resource.path}?$skiptoken={page}"


def one_page(_: Request) -> GraphPage:
    """Answer with a page of nothing."""
    return GraphPage(())


def many_pages(counts: dict[Resource, int]) -> Replies:
    """Let passes over all of some resources have so many pages."""

    def reply(request: Request) -> GraphPage:
        last = not request.full or request.page + 1 >= counts.get(request.resource, 1)
        return GraphPage((), "" if last else link(request.resource, request.page + 1))

    return reply


@dataclass
class Simulated:
    """A plan, and what was asked by it."""

    reply: Replies = one_page
    times: PollIntervals = field(default_factory=PollIntervals)
    coverages: dict[Resource, Coverage] = field(
        default_factory=lambda: {each: Coverage() for each in ALL}
    )
    now: float = 0.0
    requests: list[Request] = field(default_factory=list)
    completed: list[PollPass] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Make the plan."""
        self.plan = PollSchedule(SITE, self.times, self.coverages, wall=WALL, now=0.0)

    def run(self, seconds: float) -> None:
        """Follow the plan for a while."""
        until = self.now + seconds
        while self.now < until:
            found = self.plan.next(self.now)
            if found is None:
                self.now += max(0.05, self.plan.wait_s(self.now))
                continue
            self._ask(found)
            self.now += REQUEST_S

    def _ask(self, found: PollPass) -> None:
        query = parse_qs(urlsplit(found.url).query)
        since = seconds_of(query.get("$filter", [""])[0].rpartition(" ")[2]) or 0
        request = Request(self.now, found.resource, found.full, since, found.pages)
        self.requests.append(request)
        answer, wall = self.reply(request), WALL + self.now
        try:
            if isinstance(answer, EntraError):
                raise answer
            if self.plan.answered(found, answer, wall, wall, self.now):
                self.completed.append(found)
        except EntraError as error:
            self.plan.failed(found, error, self.now)

    def times_of(self, resource: Resource, *, full: bool) -> list[float]:
        """Say when a resource was asked."""
        return [
            each.at for each in self.requests if each.resource is resource and each.full is full
        ]

    def coverage(self, resource: Resource) -> Coverage:
        """Say how far a resource is known."""
        return self.plan.coverage(resource, WALL + self.now, self.now)
