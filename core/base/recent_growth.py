"""How fast a number grew lately, from samples of it."""

import threading
from collections import deque
from math import inf
from typing import Final

_LEAST_PART: Final = 1 / 6
"""Of a window that samples must cover: of less, a burst would be taken for a rate."""


class RecentGrowth:
    """Samples of a number over the last `longest_s` seconds, one each `every_s` at most.

    Any thread may add and ask.
    """

    def __init__(self, longest_s: float, every_s: float) -> None:
        self._longest_s = longest_s
        self._every_s = every_s
        self._samples: deque[tuple[float, float]] = deque()
        self._next = -inf
        self._lock = threading.Lock()

    def add(self, now: float, value: float) -> None:
        """Note what it is now; `now` is monotonic, in seconds."""
        if now < self._next:
            return
        with self._lock:
            if now < self._next:
                return
            self._next = now + self._every_s
            samples = self._samples
            samples.append((now, value))
            while len(samples) > 2 and samples[1][0] <= now - self._longest_s:  # noqa: PLR2004  Two ends.
                samples.popleft()

    def per_second(self, window_s: float) -> float | None:
        """Return the growth a second over about `window_s`; None while too little is known."""
        with self._lock:
            samples = list(self._samples)
        if not samples:
            return None
        now, last = samples[-1]
        ages = [(now - at, value) for at, value in samples]
        age, value = next((each for each in reversed(ages) if each[0] >= window_s), ages[0])
        return (last - value) / age if age >= window_s * _LEAST_PART else None


def seconds_left(room: float, per_second: float | None) -> float | None:
    """Return for how long room lasts at a rate; None where it is not known, or nothing grows."""
    if per_second is None or per_second <= 0:
        return None
    return max(room, 0.0) / per_second
