"""Fair queuing of work in one event loop: whoever has much of it waits for himself.

As API Priority and Fairness does in kube-apiserver: work of one *flow*, a namespace and in it a
user, waits in a line of its own, and a *seat* that becomes free goes to the next namespace in turn,
there to the next user in turn. A flow with one piece of work so waits for one of each other
namespace at most, however much they have.
"""

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final, NamedTuple

from core.base.errors import OverloadError

_MOST_BYTES: Final = 16 * 1024 * 1024
"""A quarter of the bodies that a gate holds (`webhooks.limits.AppSettings.max_held_bytes`)."""


class Flow(NamedTuple):
    """Whose work it is."""

    namespace: str
    """Empty for all that no known namespace names: they share one line of lines."""
    user: str = ""


_Line = deque[asyncio.Future[None]]


class FairQueue:
    """A number of seats, and lines of those who wait for one."""

    def __init__(self, seats: int, most_waiting: int, most_bytes: int = _MOST_BYTES) -> None:
        """Make a queue in which so many of one namespace wait, with so many bytes in all."""
        self._free = seats
        """Seats that nobody holds."""
        self._most_waiting: Final = most_waiting
        self._most_bytes: Final = most_bytes
        self._lines: OrderedDict[str, OrderedDict[str, _Line]] = OrderedDict()
        """By namespace, then by user, in the order of their turns; no line is empty."""
        self._waiting: dict[str, int] = {}
        self._bytes: Counter[str] = Counter()
        """Bytes that wait, by namespace."""

    @property
    def waiting(self) -> int:
        """How much work waits."""
        return sum(self._waiting.values())

    @asynccontextmanager
    async def seat(self, flow: Flow, size: int = 0) -> AsyncIterator[None]:
        """Hold a seat until the `async with` block ends; `size` bytes are held while it waits.

        Raises:
            OverloadError: too much of the flow's namespace waits already.
        """
        if self._free > 0:
            self._free -= 1
        else:
            self._bytes[flow.namespace] += size
            try:
                await self._wait(flow)
            finally:
                self._bytes[flow.namespace] -= size
                self._bytes += Counter()  # Forgets namespaces that have none.
        try:
            yield
        finally:
            self._pass_on()

    async def _wait(self, flow: Flow) -> None:
        namespace, user = flow
        count = self._waiting.get(namespace, 0)
        if count >= self._most_waiting or self._bytes[namespace] > self._most_bytes:
            whose = f"of namespace {namespace}" if namespace else "of no known namespace"
            message = f"{count} requests {whose} wait already; send fewer at a time"
            raise OverloadError(message)
        turn = asyncio.get_running_loop().create_future()
        self._waiting[namespace] = count + 1
        self._lines.setdefault(namespace, OrderedDict()).setdefault(user, deque()).append(turn)
        try:
            await turn
        except BaseException:  # Cancelled; or closed, where its loop ends.
            if turn.cancelled() or not turn.done():
                self._leave(flow, turn)
            else:
                self._pass_on()  # The seat came at the same moment.
            raise

    def _pass_on(self) -> None:
        """Give a seat that is free to whoever has the next turn."""
        while self._lines:
            namespace, users = next(iter(self._lines.items()))
            user, line = next(iter(users.items()))
            turn = line[0]
            users.move_to_end(user)
            self._lines.move_to_end(namespace)
            self._leave(Flow(namespace, user), turn)
            if not turn.cancelled():
                turn.set_result(None)
                return
        self._free += 1

    def _leave(self, flow: Flow, turn: "asyncio.Future[None]") -> None:
        """Take a turn out of its line, if it is there still."""
        namespace, user = flow
        users = self._lines.get(namespace, OrderedDict())
        if turn not in users.get(user, ()):
            return
        users[user].remove(turn)
        if not users[user]:
            del users[user]
        if not users:
            del self._lines[namespace]
        self._waiting[namespace] -= 1
        if not self._waiting[namespace]:
            del self._waiting[namespace]
