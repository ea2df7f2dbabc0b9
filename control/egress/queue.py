"""Which namespaces are to be looked at: what must close first, and failures after a while. Pure."""

import heapq
from typing import Final

FIRST_RETRY_S: Final = 1.0
LAST_RETRY_S: Final = 60.0


class NamespaceQueue:
    """Namespaces that are due; each is in it once. Times are seconds of any one clock."""

    def __init__(self) -> None:
        self._urgent: dict[str, None] = {}
        self._ordinary: dict[str, None] = {}
        self._failures: dict[str, tuple[int, float]] = {}
        self._at_once: set[str] = set()

    def __len__(self) -> int:
        return len(self._urgent) + len(self._ordinary)

    @property
    def failing(self) -> int:
        """How many failed when they were last looked at."""
        return len(self._failures)

    def failures(self, namespace: str) -> int:
        """Say how often one has failed since it last succeeded."""
        return self._failures.get(namespace, (0, 0.0))[0]

    def add(self, namespace: str, *, urgent: bool = False, at_once: bool = False) -> None:
        """Have a namespace looked at; an urgent one before all others.

        One that failed a moment ago waits all the same, unless it is to be looked at `at_once`: it
        is then taken once before its time. What others can cause again and again must wait.
        """
        if at_once:
            self._at_once.add(namespace)
        if urgent or at_once:
            self._ordinary.pop(namespace, None)
            self._urgent[namespace] = None
        elif namespace not in self._urgent:
            self._ordinary[namespace] = None

    def take(self, most: int, now: float) -> list[str]:
        """Take out those that come next; of those that failed a moment ago only `at_once`."""
        found: list[str] = []
        for each in (*self._urgent, *self._ordinary):
            if len(found) == most:
                break
            if each in self._at_once or self._failures.get(each, (0, now))[1] <= now:
                found.append(each)
        for each in found:
            self._at_once.discard(each)
            self._urgent.pop(each, None)
            self._ordinary.pop(each, None)
        return found

    def fail(self, namespace: str, now: float, wait_s: float = 0.0) -> int:
        """Put one back for later, and say how often it has failed; `wait_s` says how much later."""
        count = self._failures.get(namespace, (0, 0.0))[0] + 1
        wait = wait_s or min(FIRST_RETRY_S * 2.0 ** min(count - 1, 30), LAST_RETRY_S)
        self._failures[namespace] = (count, now + wait)
        self.add(namespace)
        return count

    def succeed(self, namespace: str) -> None:
        """Forget its failures."""
        self._failures.pop(namespace, None)

    def clear(self) -> None:
        """Forget all of it."""
        for each in (self._urgent, self._ordinary, self._failures, self._at_once):
            each.clear()


class NamespaceTimes:
    """The next time at which something ends, for each namespace."""

    def __init__(self) -> None:
        self._next: dict[str, float] = {}
        self._heap: list[tuple[float, str]] = []

    def set(self, namespace: str, time: float | None) -> None:
        """Note when the next thing in a namespace ends; None for never."""
        if time is None:
            self._next.pop(namespace, None)
        elif self._next.get(namespace) != time:
            self._next[namespace] = time
            heapq.heappush(self._heap, (time, namespace))

    def due(self, now: float) -> list[str]:
        """Take out the namespaces whose time has come."""
        found = []
        while self._heap and self._heap[0][0] <= now:
            time, namespace = heapq.heappop(self._heap)
            if self._next.get(namespace) == time:
                del self._next[namespace]
                found.append(namespace)
        return found

    def clear(self) -> None:
        """Forget all of it."""
        self._next.clear()
        self._heap.clear()
