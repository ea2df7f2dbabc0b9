"""Roll calls of Pods as they come from the ledger: a Pod that does not answer has ended."""

import math
import uuid
from collections.abc import Iterable
from typing import Any

import msgspec

from audit.access.attribution.lives import Life, unix_seconds
from core.weights.documents.object_change import ObjectChange, decode_change, encode_change
from core.weights.documents.roll_calls import BYTES, RollCall, read_roll_calls


class RollCalls:
    """The last roll call that is whole, and the parts of the one that is still coming."""

    def __init__(self) -> None:
        self._last: RollCall | None = None
        self._at = 0.0
        self._parts: dict[str, ObjectChange] = {}
        """By id."""

    def take(self, part: ObjectChange) -> bool:
        """Take a part; say whether there is a later roll call by it than before."""
        if any(each.time != part.time for each in self._parts.values()):
            self._parts.clear()  # Of one that lacks a part nothing follows.
        self._parts[part.id] = part
        whole = read_roll_calls(self._parts.values())
        if not whole:
            return False
        self._parts.clear()
        at = unix_seconds(whole[-1].time)
        if self._last is not None and at < self._at:
            return False
        self._last, self._at = whole[-1], at
        return True

    def answered(self, life: Life) -> Life:
        """Return a life as it is after the roll call: ended by then, where it did not answer.

        An end that somebody saw counts more, whenever it is told: the event stays as it was.
        """
        if self._last is None or life.ended != math.inf or max(life.noted, life.began) > self._at:
            return life
        try:
            there = self._last.has(str(uuid.UUID(life.uid)))
        except ValueError:
            return life
        if there:
            return life
        return msgspec.structs.replace(life, ended=self._at, sure=False, noted=self._at)

    def silent(self, lives: Iterable[Life]) -> list[Life]:
        """Return those that have ended by the roll call, as they are after it."""
        after = ((life, self.answered(life)) for life in lives)
        return [new for old, new in after if new is not old]

    def saved(self) -> list[Any]:
        """Return all of it as plain values."""
        parts = [encode_change(each) for each in self._parts.values()]
        last = self._last
        return [parts, last and [last.cluster, last.time, b"".join(sorted(last.answers))]]

    def restore(self, saved: list[Any]) -> None:
        """Take back what `saved` gave."""
        parts, last = saved
        self._parts = {each.id: each for each in map(decode_change, parts)}
        if last is not None:
            cluster, time, answers = last
            split = (answers[at : at + BYTES] for at in range(0, len(answers), BYTES))
            self._last = RollCall(cluster, time, frozenset(split))
            self._at = unix_seconds(time)
