"""Remembers what is known of many identities, and no more of them than there is room for.

Whoever came lately, on few days, has room of their own: a flood of new identities pushes out only
other newcomers. People and machines are remembered apart, since whoever may make service accounts
can make as many as they like.
"""

from collections.abc import Iterator
from typing import Final

from audit.behaviour.habits import Habits

_STAYS_AFTER: Final = 3
"""Days with acts, from which an identity is no newcomer."""


class Remembered:
    """Habits by identity; of too many, those that did nothing for the longest time go."""

    def __init__(self, most: int) -> None:
        """Have room for `most` identities, a fifth of it for newcomers."""
        self.forgotten = 0
        """How many did not fit."""
        self._newcomers: dict[bytes, Habits] = {}
        self._others: dict[bytes, Habits] = {}
        self._most_newcomers = max(most // 5, 1)
        self._most_others = max(most - self._most_newcomers, 1)

    def __len__(self) -> int:
        """Give how many are remembered."""
        return len(self._newcomers) + len(self._others)

    def __iter__(self) -> Iterator[tuple[bytes, Habits]]:
        """Give all, those that did nothing for the longest time first; safe while it changes."""
        yield from list(self._newcomers.items())
        yield from list(self._others.items())

    def find(self, who: bytes) -> tuple[Habits, bool]:
        """Give the habits of an identity that does something now, and whether they are new."""
        habits = self._others.pop(who, None)
        if habits is not None:
            self._others[who] = habits
            return habits, False
        habits = self._newcomers.pop(who, None)
        is_new = habits is None
        habits = habits or Habits()
        self.put(who, habits)
        return habits, is_new

    def put(self, who: bytes, habits: Habits) -> None:
        """Remember an identity as the one that did something last."""
        stays = habits.days >= _STAYS_AFTER
        room = self._others if stays else self._newcomers
        if len(room) >= (self._most_others if stays else self._most_newcomers):
            del room[next(iter(room))]
            self.forgotten += 1
        room[who] = habits
