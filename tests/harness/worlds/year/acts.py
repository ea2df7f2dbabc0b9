"""A synthetic year of a cluster: acts in the order of their times, and which are attacks."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Final

from audit.behaviour.acts import Act, ActKind
from core.risk.model import identity_key
from tests.harness.worlds.year.attacks import Attack, plant
from tests.harness.worlds.year.people import (
    DAY,
    Deed,
    Person,
    Team,
    day_of_person,
    day_of_pipeline,
    make_person,
    make_team,
    night_on_call,
)

START: Final = 1_735_516_800.0
"""2024-12-30, a Monday, 00:00 UTC."""

_DOINGS: Final = {"create": ActKind.CREATE, "enter": ActKind.ENTER, "other": ActKind.OTHER}
_CALLED: Final = 0.25
"""On a night of on-call."""


@dataclass(frozen=True)
class Scale:
    """How large a year is."""

    people: int = 2000
    days: int = 365
    attacks: int = 30
    """Of each kind."""
    first_attack: int = 45


@dataclass(frozen=True)
class Year:
    """One synthetic year."""

    seed: int
    scale: Scale

    def acts(self) -> Iterator[tuple[Act, Attack | None]]:
        """Yield all acts in order, and the attack that each belongs to."""
        random, scale = Random(self.seed), self.scale  # noqa: S311  A year that can be repeated.
        teams = [make_team(number, random) for number in range(max(scale.people // 12, 4))]
        people = [make_person(n, teams, scale.days, random) for n in range(scale.people)]
        attacks = plant(people, teams, scale.first_attack, scale.days, scale.attacks, random)
        planted: dict[int, list[tuple[Deed, str, Attack]]] = defaultdict(list)
        for attack in attacks:
            for deed in attack.deeds:
                planted[int(deed[0] // DAY)].append((deed, attack.who, attack))
        broken: set[int] = set()
        waiting: list[tuple[Deed, str, Attack | None]] = []
        for day in range(scale.days):
            waiting += planted[day]
            waiting += _of_people(people, teams, day, random)
            waiting += _of_pipelines(teams, broken, day, random)
            waiting.sort(key=_time)
            # Evenings reach into the next day, in the west also mornings: what is later waits.
            over = (day - 1) * DAY
            done = next((n for n, each in enumerate(waiting) if each[0][0] >= over), len(waiting))
            yield from map(_act, waiting[:done])
            del waiting[:done]
        yield from map(_act, waiting)


def _time(planned: tuple[Deed, str, Attack | None]) -> float:
    return planned[0][0]


def _of_people(
    people: list[Person], teams: list[Team], day: int, random: Random
) -> Iterator[tuple[Deed, str, None]]:
    for number, person in enumerate(people):
        if person.works(day, random):
            for deed in day_of_person(person, day, teams, random):
                yield deed, person.name, None
        # Of twelve in a team one is on call, a week each.
        is_on_call = number % 12 == day // 7 % 12 and person.joined <= day < person.left
        if is_on_call and random.random() < _CALLED:
            for deed in night_on_call(person, day, teams, random):
                yield deed, person.name, None


def _of_pipelines(
    teams: list[Team], broken: set[int], day: int, random: Random
) -> Iterator[tuple[Deed, str, None]]:
    for number, team in enumerate(teams):
        if random.random() < (0.3 if number in broken else 0.01):
            broken ^= {number}
        for deed in day_of_pipeline(team, day, number in broken, random):
            yield deed, f"pipeline-{number}", None


_KEYS: dict[str, bytes] = {}
_NUMBERS = iter(range(2**60))


def _act(planned: tuple[Deed, str, Attack | None]) -> tuple[Act, Attack | None]:
    (seconds, namespace, profile, doing, refused), who, attack = planned
    key = _KEYS.get(who) or _KEYS.setdefault(who, identity_key(who))
    act = Act(
        cluster="year",
        number=next(_NUMBERS),
        at=START + seconds,
        who=key,
        is_machine=who.startswith("pipeline"),
        namespace=namespace,
        profile=profile,
        doing=_DOINGS[doing],
        refused=refused,
    )
    return act, attack
