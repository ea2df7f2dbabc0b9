"""Who does something unusual now, as it is handed on: bounded, and read from where one was."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import msgspec

from core.risk.model import Behaviour

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


class Signals(msgspec.Struct, gc=False):
    """What one identity does now that is unusual."""

    number: int
    """Of its last change."""
    until: dict[Behaviour, int]
    """By behaviour, the Unix second from which it counts no more."""


class Acting:
    """Who does something unusual. Each change has a number; whoever read to one reads on there."""

    def __init__(self) -> None:
        self.number = 0
        self.dropped = 0
        """How many found no room."""
        self._fresh: dict[bytes, Signals] = {}
        self._others: dict[bytes, Signals] = {}

    def __iter__(self) -> Iterator[tuple[bytes, Signals]]:
        """Give all, in no order."""
        yield from self._fresh.items()
        yield from self._others.items()

    def __len__(self) -> int:
        """Give how many there are."""
        return len(self._fresh) + len(self._others)

    def note(self, who: bytes, found: Behaviour, now: float) -> Behaviour:
        """Note what an identity does; give what of it did not count yet.

        What counts already is prolonged once less than half of its time is left, so that a burst
        is not one change an act.
        """
        signals = self._others.pop(who, None) or self._fresh.pop(who, None) or Signals(0, {})
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
        """Give what an identity does that is unusual, and until when each counts."""
        signals = self._others.get(who) or self._fresh.get(who)
        return signals.until if signals else {}

    def forget_over(self, now: float) -> None:
        """Forget what counts no more."""
        for room in (self._fresh, self._others):
            for who in [who for who, each in room.items() if max(each.until.values()) <= now]:
                del room[who]

    def since(self, number: int, most: int, now: float) -> list[tuple[bytes, Signals]]:
        """Give at most `most` that changed after a number, in the order of their changes."""
        changed = [each for each in self if each[1].number > number]
        changed.sort(key=lambda each: each[1].number)
        return [each for each in changed if max(each[1].until.values()) > now][:most]

    def restore(self, signals: Iterable[tuple[bytes, Mapping[Behaviour, int]]]) -> None:
        """Take back what was saved, as new changes."""
        for who, until in signals:
            self.number += 1
            self._keep(who, Signals(self.number, dict(until)))

    def _keep(self, who: bytes, signals: Signals) -> None:
        is_fresh = set(signals.until) == {Behaviour.NEW_CLUSTER}
        room, most = (self._fresh, MOST_FRESH) if is_fresh else (self._others, MOST_OTHERS)
        if len(room) >= most:
            self.dropped += 1
            del room[next(iter(room))]
        room[who] = signals
