"""How long the oldest frame of a spool has waited, without noting a time for each frame."""

from collections import deque
from typing import Final

from audit.ledger.spool.segments import Position

_EVERY_S: Final = 1.0
_MOST: Final = 4096
"""Marks kept: about 0.5 MB. Beyond it neighbours become one, and ages a little coarser."""


class Ages:
    """Marks: up to this position, frames were written from this time on. Times are monotonic."""

    def __init__(self) -> None:
        self._marks: deque[tuple[Position, float]] = deque()

    def __len__(self) -> int:
        return len(self._marks)

    def add(self, end: Position, now: float) -> None:
        """Note that frames up to `end` were written now."""
        if self._marks and now - self._marks[-1][1] < _EVERY_S:
            _, now = self._marks.pop()
        self._marks.append((end, now))
        if len(self._marks) > _MOST:
            pairs = list(self._marks)
            self._marks = deque(
                (end, since) for (_, since), (end, _) in zip(pairs[::2], pairs[1::2], strict=False)
            )
            if len(pairs) % 2:
                self._marks.append(pairs[-1])

    def forget(self, position: Position) -> None:
        """Forget the marks up to a position."""
        while self._marks and self._marks[0][0] <= position:
            self._marks.popleft()

    def oldest(self, position: Position, now: float) -> float:
        """Give the age of the first frame after a position, in seconds; 0 where there is none."""
        for end, since in self._marks:
            if end > position:
                return max(now - since, 0.0)
        return 0.0
