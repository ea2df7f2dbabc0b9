"""Attacks that are planted into a synthetic year: stolen identities and insiders, seeded."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random
from typing import Final

from tests.harness.worlds.year.people import DAY, HOUR, Deed, Person, Team


@dataclass(frozen=True)
class Attack:
    """One attack, from its first day."""

    kind: str
    who: str
    deeds: tuple[Deed, ...]


def _zone_time(person: Person, day: int, hour: float) -> float:
    """Return the time of an hour of the day where somebody lives."""
    return day * DAY + (hour - person.zone) * HOUR


def stolen_at_night(person: Person, day: int, teams: list[Team], random: Random) -> Iterator[Deed]:
    """Somebody else's hours: a session is used while its owner sleeps, mostly where they work."""
    at = _zone_time(person, day, person.begins + 24 - random.uniform(4.0, 7.0))
    for _ in range(random.randint(5, 30)):
        at += random.expovariate(1 / 120)
        places = person.team.namespaces
        if random.random() < 0.2:
            places = random.choice(teams).namespaces
        refusal = f"{places[0]}/{random.randrange(20)}" if random.random() < 0.2 else ""
        doing = random.choice(("create", "enter", "enter"))
        yield at, random.choice(places), person.team.profiles[0], doing, refusal


def insider_moves(person: Person, day: int, teams: list[Team], random: Random) -> Iterator[Deed]:
    """An employee with wide rights looks into other teams' Pods, in their own hours."""
    others = [team for team in teams if team is not person.team]
    for later in range(random.randint(1, 3)):
        at = _zone_time(person, day + later, person.begins + random.uniform(1, 7))
        namespace = random.choice(random.choice(others).namespaces)
        for _ in range(random.randint(2, 8)):
            at += random.expovariate(1 / 300)
            yield at, namespace, "", "enter", ""


def copies_out(person: Person, day: int, teams: list[Team], random: Random) -> Iterator[Deed]:
    """Files are copied out of one Pod after the other (kubectl cp is exec), at work, at home."""
    at = _zone_time(person, day, person.begins + random.uniform(1, 7))
    namespace = random.choice(person.team.namespaces)
    for _ in range(random.randint(10, 200)):
        at += random.expovariate(1 / 10)
        yield at, namespace, "", "enter", ""


def probes(person: Person, day: int, teams: list[Team], random: Random) -> Iterator[Deed]:
    """What is allowed is found out by trying; now and then something is let in."""
    at = _zone_time(person, day, person.begins + random.uniform(1, 7))
    for _ in range(random.randint(8, 60)):
        at += random.expovariate(1 / 20)
        namespace = random.choice(random.choice(teams).namespaces)
        refusal = f"{namespace}/{random.randrange(40)}" if random.random() < 0.8 else ""
        place = namespace if refusal else person.team.namespaces[0]
        yield at, place, person.team.profiles[0], random.choice(("create", "enter")), refusal


def mines(person: Person, day: int, teams: list[Team], random: Random) -> Iterator[Deed]:
    """Hundreds of Jobs of somebody else's program, at any hour."""
    at = day * DAY + random.random() * DAY
    for _ in range(random.randint(50, 400)):
        at += random.expovariate(1 / 1.5)
        yield at, person.team.namespaces[0], person.team.profiles[0], "create", ""


def widens(person: Person, day: int, teams: list[Team], random: Random) -> Iterator[Deed]:
    """A profile that nobody of the team needs is used for Pods that reach the node."""
    at = _zone_time(person, day, person.begins + random.uniform(1, 7))
    for _ in range(random.randint(2, 8)):
        at += random.expovariate(1 / 200)
        doing = random.choice(("create", "enter"))
        profile = "node-debug" if doing == "create" else ""
        yield at, person.team.namespaces[0], profile, doing, ""


def comes_as_new(person: Person, day: int, teams: list[Team], random: Random) -> Iterator[Deed]:
    """An identity made for the purpose (a service account, an invited guest) looks around."""
    at = day * DAY + random.random() * DAY
    for _ in range(random.randint(4, 20)):
        at += random.expovariate(1 / 200)
        namespace = random.choice(random.choice(teams).namespaces)
        yield at, namespace, "restricted", random.choice(("create", "enter")), ""


def mimics(person: Person, day: int, teams: list[Team], random: Random) -> Iterator[Deed]:
    """For three weeks one to three times a day, in the owner's hours, namespaces and profile."""
    for later in range(21):
        for _ in range(random.randint(1, 3)):
            hour = person.begins + 1 + random.random() * (person.length - 2)
            at = _zone_time(person, day + later, hour)
            yield at, person.team.namespaces[0], person.team.profiles[0], "enter", ""


def copies_slowly(person: Person, day: int, teams: list[Team], random: Random) -> Iterator[Deed]:
    """Whoever has read this file copies a file every five minutes, at work, for three days."""
    for later in range(3):
        at = _zone_time(person, day + later, person.begins + random.uniform(0.5, 2))
        for _ in range(random.randint(40, 80)):
            at += 300.0
            yield at, person.team.namespaces[0], "", "enter", ""


Making = Callable[[Person, int, list[Team], Random], Iterator[Deed]]

KINDS: Final[dict[str, Making]] = {
    "stolen session at night": stolen_at_night,
    "insider in other namespaces": insider_moves,
    "copying out by exec": copies_out,
    "probing for rights": probes,
    "mining": mines,
    "wider profile": widens,
    "identity made for it": comes_as_new,
    "copying slowly": copies_slowly,
    "slow mimic": mimics,
}


def plant(  # noqa: PLR0913, PLR0917  What an attack is drawn from.
    people: list[Person], teams: list[Team], first: int, days: int, each: int, random: Random
) -> list[Attack]:
    """Make `each` attacks of every kind on days from `first` on, each on another identity.

    Whoever is attacked works here then, has for a month, and is not away.
    """
    attacks, free = [], list(people)
    random.shuffle(free)
    for kind, make in KINDS.items():
        for number in range(each):
            day = random.randrange(first, days - 22)
            found = next(one for one in free if _can_be(one, day))
            free.remove(found)
            who = f"new-{number}" if make is comes_as_new else found.name
            deeds = tuple(make(found, day, teams, random))
            attacks.append(Attack(kind, who, deeds))
    return attacks


def _can_be(person: Person, day: int) -> bool:
    return person.joined <= day - 40 and day + 22 < min(person.left, person.moves + 400)
