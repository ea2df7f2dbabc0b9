"""How many questions a second bursts may ask, for one name and for all of them."""

from dataclasses import dataclass
from typing import Final

_LEAST_ROOM: Final = 1.0


@dataclass
class QuestionBudget:
    """A bucket of tokens that fills at a rate, and holds as many as `room_s` bring."""

    rate: float
    """Questions a second."""
    room_s: float = 2.0
    _left: float = 0.0
    _at: float | None = None

    def take(self, wanted: int, now: float) -> int:
        """Return how many of the wanted questions may be asked now, and count them as asked.

        `now` is in seconds; a clock that is put back brings nothing.
        """
        room = max(self.rate * self.room_s, _LEAST_ROOM)
        grown = room if self._at is None else self._left + max(now - self._at, 0.0) * self.rate
        self._at, self._left = now, min(grown, room)
        given = min(wanted, int(self._left))
        self._left -= given
        return given

    def give_back(self, count: int) -> None:
        """Count questions as not asked, that another bound forbids."""
        self._left += count
