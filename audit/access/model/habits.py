"""What a principal does every few days from the same place: automation, as a rule. Pure."""

from typing import Final

import msgspec

from audit.access.model.sightings import MOST_RAISED, network_of, touch

HABIT_DAYS: Final = 31
"""So long a habit is remembered: automation that runs once a month keeps one."""

_WEEK_DAYS: Final = 7

_MOST_NETWORKS: Final = 2
"""A principal that came from more networks has no place of its own: hosted runners have not."""


class DoneBefore(msgspec.Struct):
    """When, and from where, a principal did something."""

    days: list[int] = []
    """Since 1970-01-01, the last ones of HABIT_DAYS."""
    networks: list[str] = []


def week_of(day: int) -> str:
    """Name the week of a day: a habit is said once in each."""
    return f"week {day // _WEEK_DAYS}"


def note_habit(room: dict[str, DoneBefore], key: str, day: int, address: str) -> bool:
    """Note that something was done; return whether it was on an earlier day, from this network.

    The first time is none, and neither is one from a network that is new to a principal that
    always came from the same one or two.
    """
    kept = touch(room, key, DoneBefore, MOST_RAISED)
    kept.days = [one for one in kept.days if abs(day - one) <= HABIT_DAYS]
    is_known = any(one < day for one in kept.days)
    network = network_of(address)
    is_near = network in kept.networks or len(kept.networks) > _MOST_NETWORKS
    if day not in kept.days:
        kept.days.append(day)
    if network not in kept.networks and len(kept.networks) <= _MOST_NETWORKS:
        kept.networks.append(network)
    return is_known and is_near
