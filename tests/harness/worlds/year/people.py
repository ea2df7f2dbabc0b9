"""People and pipelines of a synthetic year: what they do on an ordinary day, seeded.

What is made up, and why: `docs/operate/behaviour.md` names the assumptions.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Final

HOUR: Final = 3600.0
DAY: Final = 86_400.0

Deed = tuple[float, str, str, str, str]
"""Seconds, namespace, profile, `create`, `enter` or `other`, and the refusal or nothing."""

_ZONES: Final = (-8, -8, -5, 0, 1, 1, 5)
_HOLIDAYS: Final = frozenset({0, 17, 50, 90, 91, 120, 145, 184, 247, 330, 358, 359, 360})
_DEADLINES: Final = (35, 138, 270)
"""Days on which papers are due: the two weeks before are a crunch."""

_CRUNCH_DAYS: Final = 14


def is_crunch(day: int) -> bool:
    """Return whether a deadline is near."""
    return any(0 <= due - day < _CRUNCH_DAYS for due in _DEADLINES)


def is_weekend(day: int) -> bool:
    """Return whether a day of the year, which begins on a Monday, is on a weekend."""
    return day % 7 >= 5


@dataclass
class Team:
    """Who shares namespaces and profiles."""

    namespaces: list[str]
    profiles: list[str]


@dataclass
class Person:
    """Somebody who works with the cluster."""

    name: str
    team: Team
    zone: int
    begins: float
    """Local hour at which they begin to work, usually."""
    length: float
    pace: float
    """Workloads that they submit on a usual day."""
    enters: float
    """Times that they enter a Pod, for each workload."""
    joined: int = 0
    left: int = 10_000
    moves: int = 10_000
    """The day on which they change to `next_team`."""
    next_team: Team | None = None
    sweeps: bool = False
    """Whether they start searches of hundreds of Jobs by script."""
    is_owl: bool = False
    is_researcher: bool = True
    away: frozenset[int] = frozenset()
    abroad: dict[int, int] = field(default_factory=dict)
    """By day, the zone that they are in."""
    projects: list[str] = field(default_factory=list)
    """Namespaces of other teams that they work in as well."""

    def works(self, day: int, random: Random) -> bool:
        """Return whether they work on a day."""
        if not self.joined <= day < self.left or day in self.away:
            return False
        if is_weekend(day) or day in _HOLIDAYS:
            crunching = self.is_researcher and is_crunch(day)
            return random.random() < (0.5 if crunching else 0.06)
        return random.random() < 0.93


def make_team(number: int, random: Random) -> Team:
    """Make a team with its namespaces and profiles."""
    namespaces = [f"team-{number}", *(f"team-{number}-{word}" for word in ("train", "eval"))]
    profiles = random.sample(["restricted", "training", "inference", "notebook", "rdma"], 3)
    return Team(namespaces[: random.randint(1, 3)], profiles)


def make_person(number: int, teams: list[Team], days: int, random: Random) -> Person:
    """Make somebody; a tenth joins, a tenth leaves, a twentieth changes teams within the year."""
    away = {day for _ in range(2) for day in _span(random, days, 10)}
    abroad = dict.fromkeys(_span(random, days, 10), random.choice(_ZONES))
    fate = random.random()
    when = random.randrange(days)
    return Person(
        f"person-{number}",
        random.choice(teams),
        random.choice(_ZONES),
        begins=random.gauss(9.3, 1.1),
        length=min(max(random.gauss(8.5, 1.2), 4.0), 13.0),
        pace=min(random.lognormvariate(math.log(4.0), 0.7), 40.0),
        enters=random.choice((0.05, 0.2, 0.5, 1.0)),
        joined=when if fate < 0.1 else 0,
        left=when if 0.1 <= fate < 0.2 else 10_000,
        moves=when if 0.2 <= fate < 0.25 else 10_000,
        next_team=random.choice(teams),
        sweeps=random.random() < 0.15,
        is_owl=random.random() < 0.05,
        is_researcher=random.random() < 0.7,
        away=frozenset(away),
        abroad=abroad if random.random() < 0.15 else {},
    )


def _span(random: Random, days: int, length: int) -> range:
    first = random.randrange(days)
    return range(first, first + length)


def day_of_person(person: Person, day: int, teams: list[Team], random: Random) -> Iterator[Deed]:
    """Yield what somebody does on a day on which they work, in no order."""
    if day >= person.moves and person.next_team:
        person.team, person.next_team = person.next_team, None
    if random.random() < 1 / 60:
        person.projects = [*person.projects[-2:], random.choice(random.choice(teams).namespaces)]
    crunching = person.is_researcher and is_crunch(day)
    zone = person.abroad.get(day, person.zone)
    begins = day * DAY + (person.begins - zone + random.gauss(0, 0.6)) * HOUR
    length = (person.length + (3.5 if crunching else 0.0)) * HOUR
    many = int(random.expovariate(1 / (person.pace * (1.8 if crunching else 1.0)))) + 1
    for _ in range(many):
        at = begins + random.random() * length
        if (person.is_owl and random.random() < 0.4) or random.random() < 0.04:
            at = begins + length + random.random() * 4.5 * HOUR  # The evening.
        yield from _work(person, at, random)
    if random.random() < 0.04:
        yield from _struggle(person, begins + random.random() * length, random)
    if random.random() < 0.03:
        yield from _debug(person, begins + random.random() * length, random)
    if random.random() < 0.006:
        yield from _all_pods(person, begins + random.random() * length, random)
    if random.random() < 0.006:
        yield from _folder(person, begins + random.random() * length, random)
    if person.sweeps and random.random() < (0.12 if crunching else 0.05):
        yield from _search(person, begins + random.random() * length, random)


def _work(person: Person, at: float, random: Random) -> Iterator[Deed]:
    """One workload, and what follows: looked into, changed, refused at first."""
    places = person.team.namespaces
    namespace = places[0] if random.random() < 0.6 else random.choice(places)
    if person.projects and random.random() < 0.15:
        namespace = random.choice(person.projects)
    profile = person.team.profiles[0 if random.random() < 0.8 else 1]
    if random.random() < 0.004:
        profile = person.team.profiles[2]
    if random.random() < 0.05:
        yield at - 60, namespace, "", "create", f"{namespace}/{random.randrange(6)}"
    yield at, namespace, profile, "create", ""
    if random.random() < person.enters:
        for number in range(random.choice((1, 1, 2, 4))):
            yield at + 300 + number * 90 * random.random(), namespace, "", "enter", ""
    if random.random() < 0.2:
        yield at + 900 * random.random(), namespace, profile, "other", ""


def _struggle(person: Person, at: float, random: Random) -> Iterator[Deed]:
    """A manifest that is mended step by step, or sent again and again."""
    namespace = random.choice(person.team.namespaces)
    refusal = random.randrange(6)
    for _ in range(random.randint(2, 10)):
        at += random.expovariate(1 / 120)
        refusal = random.randrange(6) if random.random() < 0.5 else refusal
        yield at, namespace, "", "create", f"{namespace}/{refusal}"


def _debug(person: Person, at: float, random: Random) -> Iterator[Deed]:
    """An afternoon in Pods that do not do what they should."""
    namespace = random.choice(person.team.namespaces)
    for _ in range(random.randint(5, 22)):
        at += random.expovariate(1 / 150)
        yield at, namespace, "", "enter", ""


def _all_pods(person: Person, at: float, random: Random) -> Iterator[Deed]:
    """One command in each Pod of a distributed job, by a loop in a shell."""
    namespace = person.team.namespaces[0]
    for _ in range(random.choice((4, 8, 8, 16, 16, 32, 64))):
        at += random.expovariate(1 / 2)
        yield at, namespace, "", "enter", ""


def _folder(person: Person, at: float, random: Random) -> Iterator[Deed]:
    """A folder of somebody else's manifests, most of which are refused."""
    namespace = random.choice(person.team.namespaces)
    for _ in range(random.randint(3, 30)):
        at += random.expovariate(1 / 1)
        refusal = f"{namespace}/{random.randrange(30)}" if random.random() < 0.7 else ""
        yield at, namespace, person.team.profiles[0], "create", refusal


def _search(person: Person, at: float, random: Random) -> Iterator[Deed]:
    """A search over parameters: Jobs by script."""
    namespace, profile = person.team.namespaces[0], person.team.profiles[0]
    for _ in range(random.randint(30, 250)):
        at += random.expovariate(1 / 2)
        yield at, namespace, profile, "create", ""


def night_on_call(person: Person, day: int, teams: list[Team], random: Random) -> Iterator[Deed]:
    """Yield what somebody does who is called at night: looks into Pods, also of other teams."""
    at = day * DAY + (random.uniform(23, 29) - person.zone) * HOUR
    namespaces = [*person.team.namespaces, random.choice(random.choice(teams).namespaces)]
    for _ in range(random.randint(3, 14)):
        at += random.expovariate(1 / 180)
        doing = random.choice(("enter", "enter", "other", "create"))
        yield at, random.choice(namespaces), person.team.profiles[0], doing, ""


def day_of_pipeline(team: Team, day: int, is_broken: bool, random: Random) -> Iterator[Deed]:  # noqa: FBT001
    """Yield what a team's pipeline does on a day: at each merge and every night."""
    merges = random.randint(0, 2) if is_weekend(day) else random.randint(2, 9)
    starts = [random.random() * 24 for _ in range(merges)]
    for start in [2.0, *starts]:
        at = day * DAY + start * HOUR
        for _ in range(random.randint(2, 25)):
            at += random.expovariate(1 / 3)
            refusal = f"{team.namespaces[0]}/1" if is_broken and random.random() < 0.5 else ""
            yield at, random.choice(team.namespaces), "restricted", "create", refusal
