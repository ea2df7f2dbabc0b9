"""What is learnt of a cluster's identities, and which of them do something unusual now. Bounded.

An identity that came lately, on few days, has room of its own: a flood of new identities pushes out
only other newcomers. People and machines are remembered apart, since who may make service accounts
can make as many as they like.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import msgspec

from audit.behaviour.acts import Act
from audit.behaviour.habits import Habits, Norms, learn_act, make_norms
from core.base.short_text_cache import cache_short_text
from core.base.times import DAY_S
from core.risk.model import Behaviour

WARM_S: Final = 14 * DAY_S
"""So long a cluster is only learnt from: before, everything is new."""

MOST_PEOPLE: Final = 15_000

MOST_MACHINES: Final = 5_000
"""Identities that are remembered."""

_HOUR_S: Final = 3600

LASTING_S: Final[Mapping[Behaviour, int]] = {
    Behaviour.NEW_NAMESPACE: 12 * _HOUR_S,
    Behaviour.NEW_CLUSTER: 24 * _HOUR_S,
    Behaviour.NEW_PROFILE: 12 * _HOUR_S,
    Behaviour.UNUSUAL_HOUR: 2 * _HOUR_S,
    Behaviour.CREATE_BURST: 2 * _HOUR_S,
    Behaviour.EXEC_BURST: 4 * _HOUR_S,
    Behaviour.DENIALS: 4 * _HOUR_S,
}
"""How long each counts after it was last seen. A new namespace or profile counts for the working
day on which it is new."""

MOST_FRESH: Final = 1000
"""Identities of which no more is known than that they are new. Whoever can make identities can
make many; the others keep their room."""

MOST_OTHERS: Final = 4000

_STAYS_AFTER: Final = 3
"""Days with acts, from which an identity is no newcomer."""

MOST_AHEAD_S: Final = 300.0
"""An act from further ahead comes from a clock that is wrong, and teaches nothing."""

_LATEST_S: Final = DAY_S
"""An act that comes later than this is one that was sent before, or says nothing of now."""

_MOST_NUMBERS: Final = 65_536
"""Numbers of acts that are known, twice: a frame that comes again is not learnt from again."""

_REMEMBERED_DIGESTS: Final = 16_384


class UnusualSignals(msgspec.Struct, gc=False):
    """What one identity does now that is unusual."""

    number: int
    """Of its last change."""
    until: dict[Behaviour, int]
    """By behaviour, the Unix second from which it counts no more."""


class UnusualActors:
    """Who does something unusual. Each change has a number; whoever read to one reads on there."""

    def __init__(self) -> None:
        self.number = 0
        self.dropped = 0
        """How many found no room."""
        self._fresh: dict[bytes, UnusualSignals] = {}
        self._others: dict[bytes, UnusualSignals] = {}

    def __iter__(self) -> Iterator[tuple[bytes, UnusualSignals]]:
        """Yield all, in no order."""
        yield from self._fresh.items()
        yield from self._others.items()

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._fresh) + len(self._others)

    def note(self, who: bytes, found: Behaviour, now: float) -> Behaviour:
        """Note what an identity does; give what of it did not count yet.

        What counts already is prolonged once less than half of its time is left, so that a burst
        is not one change an act.
        """
        signals = self._others.pop(who, None) or self._fresh.pop(who, None) or UnusualSignals(0, {})
        until, fresh, changed = signals.until, Behaviour(0), False
        for each, lasts in LASTING_S.items():
            if each not in found:
                continue
            ends = until.get(each, 0)
            if ends <= now:
                fresh |= each
            if ends < now + lasts / 2:
                until[each] = int(now + lasts)
                changed = True
        if changed:
            self.number += 1
            signals.number = self.number
        self._keep(who, signals)
        return fresh

    def of(self, who: bytes) -> Mapping[Behaviour, int]:
        """Return what an identity does that is unusual, and until when each counts."""
        signals = self._others.get(who) or self._fresh.get(who)
        return signals.until if signals else {}

    def forget_over(self, now: float) -> None:
        """Forget what counts no more."""
        for room in (self._fresh, self._others):
            for who in [who for who, each in room.items() if max(each.until.values()) <= now]:
                del room[who]

    def since(self, number: int, most: int, now: float) -> list[tuple[bytes, UnusualSignals]]:
        """Return at most `most` that changed after a number, in the order of their changes."""
        changed = [each for each in self if each[1].number > number]
        changed.sort(key=lambda each: each[1].number)
        return [each for each in changed if max(each[1].until.values()) > now][:most]

    def restore(self, signals: Iterable[tuple[bytes, Mapping[Behaviour, int]]]) -> None:
        """Take back what was saved, as new changes."""
        for who, until in signals:
            self.number += 1
            self._keep(who, UnusualSignals(self.number, dict(until)))

    def _keep(self, who: bytes, signals: UnusualSignals) -> None:
        is_fresh = set(signals.until) == {Behaviour.NEW_CLUSTER}
        room, most = (self._fresh, MOST_FRESH) if is_fresh else (self._others, MOST_OTHERS)
        if len(room) >= most:
            self.dropped += 1
            del room[next(iter(room))]
        room[who] = signals


class RememberedHabits:
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
        """Return how many are remembered."""
        return len(self._newcomers) + len(self._others)

    def __iter__(self) -> Iterator[tuple[bytes, Habits]]:
        """Yield all, those that did nothing for the longest time first; safe while it changes."""
        yield from list(self._newcomers.items())
        yield from list(self._others.items())

    def find(self, who: bytes) -> tuple[Habits, bool]:
        """Return the habits of an identity that does something now, and whether they are new."""
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


class ClusterHabits:
    """What is learnt of one cluster's identities: bounded, whatever is done there."""

    def __init__(
        self, salt: bytes, people: int = MOST_PEOPLE, machines: int = MOST_MACHINES
    ) -> None:
        """Begin with nothing. `salt` keeps outsiders from choosing names whose digests collide."""
        self.salt = salt
        self.began: float | None = None
        """When its first act was. Unix seconds."""
        self.learnt = 0
        """Acts, since this process began."""
        self.acting = UnusualActors()
        self.people = RememberedHabits(people)
        self.machines = RememberedHabits(machines)
        self.norms: dict[bool, Norms] = {False: make_norms(), True: make_norms()}
        """By whether it is a machine."""
        self._known: set[int] = set()
        self._known_before: set[int] = set()
        self._digest = cache_short_text(_REMEMBERED_DIGESTS, longest=256)(self._make_digest)

    def learn(self, act: Act, now: float) -> Behaviour:
        """Learn from an act that arrives at `now`; give what is unusual since this act.

        What was learnt before from the ledger comes in the order of its times, each being `now`.
        An act that is known, of long ago or of the future teaches nothing.
        """
        if not now - _LATEST_S <= act.at <= now + MOST_AHEAD_S or self._is_known(act.number):
            return Behaviour(0)
        self.learnt += 1
        self.began = act.at if self.began is None else min(self.began, act.at)
        remembered = self.machines if act.is_machine else self.people
        habits, is_new = remembered.find(act.who)
        digest = self._digest
        digests = (digest(act.namespace), digest(act.profile), digest(act.refused))
        found = learn_act(habits, act, digests, self.norms[act.is_machine])
        if is_new:
            found |= Behaviour.NEW_CLUSTER
        if not found or not self.is_warm(act.at):
            return Behaviour(0)
        return self.acting.note(act.who, found, act.at)

    def is_warm(self, at: float) -> bool:
        """Return whether enough was learnt to tell what is unusual."""
        return self.began is not None and at >= self.began + WARM_S

    def _is_known(self, number: int) -> bool:
        if number in self._known or number in self._known_before:
            return True
        if len(self._known) >= _MOST_NUMBERS:
            self._known, self._known_before = set(), self._known
        self._known.add(number)
        return False

    def _make_digest(self, text: str) -> int:
        if not text:
            return 0
        return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8, key=self.salt).digest())
