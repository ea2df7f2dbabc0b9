"""The schedule of requests to Graph: passes over pages, and which request comes next. Pure.

What changed goes first; passes over everybody, detections, client ids and guests take turns in the
requests that are left, one of four at least. So a pass over 100,000 users, 200 pages, delays
nothing, and whatever changes, the rest is read in time. Times come in, and nothing is asked here.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

import msgspec

from core.base.errors import EntraError
from core.base.times import time_text
from core.risk.snapshot import Coverage
from identity.entra.application_ids import IdQuery, IdQueue
from identity.entra.graph_answers import (
    RESTING,
    GraphPage,
    GuestUser,
    RiskDetection,
    RiskyPrincipal,
    ServicePrincipal,
)
from identity.entra.graph_requests import (
    PollIntervals,
    Resource,
    is_ours,
    url_of_all,
    url_of_applications,
    url_of_changes,
)
from identity.entra.values import seconds_of
from identity.risk.entry_merge import MOST_AHEAD_S

MOST_PAGES: Final = 10_000
"""Of one pass: 5,000,000 identities."""

MOST_TRIES: Final = 5
"""After so many failures in a row a pass begins anew."""

FIRST: Final = (Resource.USERS, Resource.SERVICE_PRINCIPALS)
"""What has levels and states."""

MOST_IN_ROW: Final = 3
"""After so many requests for what changed, one for anything else that is due."""

_NEVER: Final = float("inf")

_UNFILTERED_FACTOR: Final = 4
"""Where Graph takes no filter, all are read again after so many times as long as that took."""


@dataclass
class PollPass:
    """One pass, and how far it has come."""

    resource: Resource
    url: str
    """Of the page that comes next."""
    full: bool
    """Whether it is over all of them."""
    asking: IdQuery | None = None
    """The client ids that it is about."""
    as_of: float | None = None
    """When it began, by Graph's clock: everything that changed before is in it. Unix seconds."""
    latest: str = ""
    """The latest change that it told of, as Graph wrote it."""
    listed: set[bytes] = field(default_factory=set)
    """Whom a full pass told of."""
    pages: int = 0
    failures: int = 0
    """In a row."""

    def take(self, page: GraphPage, asked_at: float, now: float) -> None:
        """Take in a page: when it was asked for, and when Graph answered, by its own clock."""
        if self.as_of is None:
            self.as_of = asked_at
        self.pages += 1
        self.failures = 0
        for item in page.items:
            if isinstance(item, RiskyPrincipal | RiskDetection) and (
                at := seconds_of(item.written)
            ):
                self.latest = (
                    later_time(self.latest, item.written) if _is_past(at, now) else self.latest
                )
            if self.full and isinstance(item, RiskyPrincipal | GuestUser):
                self.listed.add(item.key)


def _is_past(at: int, now: float) -> bool:
    return at <= now + MOST_AHEAD_S


def later_time(one: str, other: str) -> str:
    """Return the later of two times, as Graph wrote it; what is none comes first."""
    return max(one, other, key=lambda each: (seconds_of(each) or 0, each))


def coverage_after(
    coverage: Coverage, found: PollPass, through: str, changes_as_of: float | None
) -> Coverage:
    """Return how far a resource is known after a pass that is complete.

    Before the first pass over all of them is, nothing is known to be complete.

    Args:
        coverage: how far it was known.
        found: the pass.
        through: where to go on.
        changes_as_of: when the last complete pass over what changed began, in this term.
    """
    if found.full:
        as_of = _latest(coverage.as_of, found.as_of)
        if changes_as_of and found.as_of and changes_as_of >= found.as_of:
            as_of = _latest(as_of, changes_as_of)
        return msgspec.structs.replace(coverage, as_of=as_of, through=through, full=found.as_of)
    as_of = None if coverage.full is None else _latest(coverage.as_of, found.as_of)
    return msgspec.structs.replace(coverage, as_of=as_of, through=through)


def _latest(one: float | None, other: float | None) -> float | None:
    return max((each for each in (one, other) if each is not None), default=None)


@dataclass
class _Track:
    """Where the passes of one resource are. Times are of the clock that does not jump."""

    resource: Resource
    coverage: Coverage
    through: str
    """Where to go on; at first, when the first pass over all of them began."""
    full_at: float
    changes_at: float = 0.0
    """When the next pass is due; while one goes on, when it began."""
    full: PollPass | None = None
    changes: PollPass | None = None
    changes_as_of: float | None = None
    rests_until: float = 0.0
    is_unfiltered: bool = False
    served: int = 0
    """Its last turn; a number that grows."""
    served_first: int = 0
    """The same of what changed."""

    @property
    def has_changes(self) -> bool:
        """Whether it can be asked what changed."""
        return bool(self.resource.changed and self.through) and not self.is_unfiltered

    @property
    def due_at(self) -> float:
        """When it is due."""
        if self.changes or self.full:
            return self.rests_until
        changes_at = self.changes_at if self.has_changes else _NEVER
        return max(self.rests_until, min(self.full_at, changes_at))

    def drop(self, found: PollPass) -> None:
        """Forget a pass, which is complete or begins anew."""
        if self.full is found:
            self.full = None
        else:
            self.changes = None


class PollSchedule:
    """Says what to ask next, and takes in what came of it. One for each term of a leader."""

    def __init__(
        self,
        site: str,
        times: PollIntervals,
        coverages: Mapping[Resource, Coverage],
        *,
        wall: float,
        now: float,
    ) -> None:
        """Go on where the snapshot says: `wall` in Unix seconds, `now` by the other clock."""
        self._site = site
        self._times = times
        self._served = self._in_row = 0
        self.waiting = IdQueue(times)
        self._tracks: dict[Resource, _Track] = {}
        for resource, coverage in coverages.items():
            left = self._left(resource, coverage, wall)
            self._tracks[resource] = _Track(resource, coverage, coverage.through, now + left)

    def next(self, now: float) -> PollPass | None:
        """Return the pass whose next page is to be asked for; None while none is due."""
        awake = [each for each in self._tracks.values() if now >= each.rests_until]
        if self._in_row < MOST_IN_ROW and (found := self._next_first(awake, now)):
            self._in_row += 1
            return found
        self._in_row = 0
        return self._next_turn(awake, now) or self._next_first(awake, now)

    def _next_first(self, awake: Iterable[_Track], now: float) -> PollPass | None:
        """Return a pass over what changed; users and service principals take turns."""
        first = [each for each in awake if each.resource in FIRST]
        for track in sorted(first, key=lambda each: each.served_first):
            if found := self._changes(track, now):
                self._served += 1
                track.served_first = self._served
                return found
        return None

    def _next_turn(self, awake: Iterable[_Track], now: float) -> PollPass | None:
        """Return a pass of those that take turns."""
        for track in sorted(awake, key=lambda each: each.served):
            is_first = track.resource in FIRST
            found = self._full(track, now) if is_first else self._any(track, now)
            if found:
                self._served += 1
                track.served = self._served
                return found
        return None

    def _any(self, track: _Track, now: float) -> PollPass | None:
        return self._changes(track, now) or self._full(track, now)

    def wait_s(self, now: float) -> float:
        """Return the seconds until something is due, and as long as one interval at most."""
        dues = [each.due_at for each in self._tracks.values()]
        if applications := self._tracks.get(Resource.APPLICATIONS):
            dues.append(max(applications.rests_until, self.waiting.due_at))
        return max(0.0, min(self._times.every_s, min(dues, default=_NEVER) - now))

    def answered(
        self, found: PollPass, page: GraphPage, asked_at: float, answered_at: float, now: float
    ) -> bool:
        """Go on to the next page; say whether there is none, and the pass is complete.

        Args:
            found: the pass.
            page: what was read.
            asked_at: when, Unix seconds of Graph's clock.
            answered_at: as `asked_at`.
            now: by the clock that does not jump.

        Raises:
            EntraError: the next page is not where it must be. What was read counts.
        """
        track = self._tracks[found.resource]
        found.take(page, asked_at, answered_at)
        if found.full and found.resource.changed and not track.through:
            track.through = time_text(asked_at)
            track.changes_at = now + self._every(track.resource)
        if page.next_link:
            found.url = self._checked(found, page.next_link)
            return False
        self._end(track, found, page, now)
        track.drop(found)
        return True

    def failed(self, found: PollPass, error: EntraError, now: float) -> None:
        """Take in that a request failed: ask again, begin anew, or let the resource rest."""
        track = self._tracks[found.resource]
        found.failures += 1
        if error.kind == "rejected" and not found.full and not found.pages:
            track.is_unfiltered = True
            track.full_at = now
            track.drop(found)
        elif error.kind in RESTING:
            track.rests_until = now + self._times.rest_s
            track.drop(found)
        elif found.failures >= MOST_TRIES:
            track.drop(found)

    def confirm(self, resource: Resource, now: float) -> None:
        """Ask for all of them again soon: somebody who is at risk was not listed."""
        track = self._tracks[resource]
        track.full_at = min(track.full_at, now + self._times.confirm_s)

    def coverage(self, resource: Resource, wall: float, now: float) -> Coverage:
        """Say how far a resource is known by what is complete."""
        coverage = self._tracks[resource].coverage
        if resource is Resource.APPLICATIONS and self.waiting.due_at > now:
            return msgspec.structs.replace(coverage, as_of=wall, full=wall)
        return coverage

    @property
    def resources(self) -> tuple[Resource, ...]:
        """What is asked for."""
        return tuple(self._tracks)

    def _left(self, resource: Resource, coverage: Coverage, wall: float) -> float:
        """Return the seconds until the next pass over all of them."""
        every = self._full_every(resource)
        if resource is Resource.APPLICATIONS:
            return _NEVER
        if coverage.full is None:
            return 0.0
        return min(max(0.0, coverage.full + every - wall), every)

    def _full_every(self, resource: Resource) -> float:
        if resource is Resource.GUESTS:
            return self._times.guests_s
        return self._times.full_s if resource in FIRST else _NEVER

    def _every(self, resource: Resource) -> float:
        return self._times.every_s if resource in FIRST else self._times.events_s

    def _changes(self, track: _Track, now: float) -> PollPass | None:
        if track.changes is None and track.has_changes and now >= track.changes_at:
            is_first = track.resource in FIRST
            overlap = self._times.overlap_s if is_first else self._times.events_overlap_s
            since = time_text(max(0, (seconds_of(track.through) or 0) - overlap))
            url = url_of_changes(self._site, track.resource, since)
            track.changes, track.changes_at = PollPass(track.resource, url, full=False), now
        return track.changes

    def _full(self, track: _Track, now: float) -> PollPass | None:
        if track.full is None and track.resource is Resource.APPLICATIONS:
            if asking := self.waiting.next(now):
                url = url_of_applications(self._site, asking.ids, asking.field)
                track.full = PollPass(track.resource, url, full=True, asking=asking)
        elif track.full is None and now >= track.full_at:
            track.full = PollPass(track.resource, url_of_all(self._site, track.resource), full=True)
            track.full_at = now
        return track.full

    def _checked(self, found: PollPass, link: str) -> str:
        asked = f"Graph, {found.resource.value}"
        if not is_ours(link, self._site, found.resource):
            text = "the next page lies elsewhere: it was not asked for, and the token not sent"
            raise EntraError(f"{asked}: {text}", "foreign-link")
        if link == found.url or found.pages >= MOST_PAGES:
            raise EntraError(f"{asked}: pages without an end", "foreign-link")
        return link

    def _end(self, track: _Track, found: PollPass, page: GraphPage, now: float) -> None:
        every = self._every(track.resource)
        if found.asking:
            self.waiting.answered(found.asking, _found(page, found.asking), now)
            return
        if found.full:
            took = now - track.full_at
            track.full_at += self._full_every(track.resource)
            if track.is_unfiltered:
                track.full_at = now + max(every, _UNFILTERED_FACTOR * took)
        else:
            track.changes_at += every
            track.changes_as_of = found.as_of
            track.through = later_time(track.through, found.latest)
        track.coverage = coverage_after(track.coverage, found, track.through, track.changes_as_of)


def _found(page: GraphPage, asking: IdQuery) -> set[str]:
    """Return the ids for which there was an answer."""
    return {each.named(asking.field) for each in page.items if isinstance(each, ServicePrincipal)}
