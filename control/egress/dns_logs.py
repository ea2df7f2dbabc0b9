"""Follows the logs of the cluster's DNS, so that new addresses of names are asked for at once.

A log opens nothing: it says when to ask our own name servers. Each Pod of DNS has one connection,
while this process leads; without a log, names are asked for as they always are.
"""

import asyncio
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import structlog

from control.egress.metrics import EgressMetrics
from control.egress.question_budget import QuestionBudget
from control.loop import Loop, describe
from core.base.errors import DnsLogEndedError, DnsLogError
from core.base.networks import Address
from egress.clients.dns_log import read_dns_log
from egress.dns.dnstap import answered_addresses, asked_name, read_client_answer
from egress.dns.log_settings import DnsLogSettings
from egress.dns.resolver import NameServer
from kube.leader.lease import Leadership

INTERVAL_S: Final = 1.0
FIRST_RETRY_S: Final = 1.0
"""Until a log is opened again; doubled each time that it does not open."""
LAST_RETRY_S: Final = 60.0
TOLD_AGAIN_S: Final = 600.0
"""Until it is logged again that an open log broke: what it sends is new each time."""
MOST_LOGS: Final = 64
"""Of Pods, the first by address: each message comes through one event loop."""
MESSAGES: Final = 2000.0
"""A second, of all logs; others are passed over unread."""
ANSWERS: Final = 200.0
"""A second, of all names: answers that are read whole."""
NAME_GAP_S: Final = 0.2
"""Between two answers for one name that are read whole."""

_log = structlog.get_logger(__name__)


class HintedNames(Protocol):
    """What asks for names."""

    def takes_hints(self, name: str) -> bool:
        """Return whether it would ask for a name sooner, for an address that it does not know."""

    def hint(self, name: str, addresses: Sequence[Address]) -> bool:
        """Ask for a name soon if one of the addresses is not known; return whether it does."""


class LogMessages:
    """Finds hints in messages. Whatever they hold, each costs little, and so do all together."""

    def __init__(
        self,
        names: HintedNames,
        metrics: EgressMetrics,
        elapsed: Callable[[], float] = time.monotonic,
    ) -> None:
        self._names = names
        self._metrics = metrics
        self._elapsed = elapsed
        self._messages = QuestionBudget(MESSAGES)
        self._answers = QuestionBudget(ANSWERS)
        self._read_at: dict[str, float] = {}

    def take(self, frame: bytes, own: frozenset[bytes]) -> None:
        """Take one message; `own` has this process's addresses: its questions are no hints.

        Raises:
            DnsLogError: it is no message.
        """
        now = self._elapsed()
        self._metrics.dns_log_message()
        if not self._messages.take(1, now):
            self._metrics.dns_log_dropped()
            return
        answer = read_client_answer(frame)
        if answer is None or answer.client in own:
            return
        if not answer.response:
            self._metrics.dns_log_dropped()
            return
        name = asked_name(answer.response)
        if name is None or not self._names.takes_hints(name):
            return
        if not self._is_due(name, now):
            self._metrics.dns_log_dropped()
            return
        try:
            addresses = answered_addresses(answer.response)
        except DnsLogError:  # What a name is answered with is its owner's: it ends no log.
            self._metrics.dns_log_dropped()
            return
        if self._names.hint(name, addresses):
            self._metrics.dns_log_hint()

    def _is_due(self, name: str, now: float) -> bool:
        if now - self._read_at.get(name, -NAME_GAP_S) < NAME_GAP_S:
            return False
        if not self._answers.take(1, now):
            return False
        self._read_at = {
            each: at for each, at in self._read_at.items() if now - at < NAME_GAP_S
        } | {name: now}
        return True


@dataclass
class _Followed:
    """The log of one Pod."""

    task: asyncio.Task[None] | None = None
    retry_at: float = 0.0
    failures: int = 0
    is_open: bool = False
    problem: str = ""
    broke_at: float = -math.inf
    """When it was last logged that it broke."""


class DnsLogs:
    """Keeps the log of each Pod open. `loop` is its loop."""

    def __init__(
        self,
        settings: DnsLogSettings,
        messages: LogMessages,
        metrics: EgressMetrics,
        elapsed: Callable[[], float] = time.monotonic,
    ) -> None:
        """Take how logs are reached, and what takes their messages."""
        self._settings = settings
        self._messages = messages
        self._metrics = metrics
        self._elapsed = elapsed
        self._pods: tuple[str, ...] = ()
        self._followed: dict[str, _Followed] = {}
        self.loop = Loop("egress-dns-logs", INTERVAL_S, self.run, forget=self.forget)

    def set_pods(self, addresses: Sequence[str]) -> None:
        """Take the Pods that there are, each by one address."""
        self._pods = tuple(sorted(addresses)[:MOST_LOGS])
        self._metrics.dns_logs_left_out(max(len(addresses) - MOST_LOGS, 0))

    async def run(self, leadership: Leadership) -> None:
        """Open what is not open, and let go of Pods that are gone.

        That a log cannot be had fails nothing: it is told, and tried again.

        Raises:
            NotLeaderError: leadership was lost.
        """
        leadership.require()
        for gone in self._followed.keys() - set(self._pods):
            self._stop(self._followed.pop(gone))
        now = self._elapsed()
        for address in self._pods:
            followed = self._followed.setdefault(address, _Followed())
            if followed.task is None and now >= followed.retry_at:
                followed.task = asyncio.create_task(self._follow(address, followed))
        self._show()

    def forget(self) -> None:
        """Let go of all logs: only who leads reads them."""
        for each in self._followed.values():
            self._stop(each)
        self._followed.clear()
        self._pods = ()

    async def _follow(self, address: str, followed: _Followed) -> None:
        """Read one log until it ends, and say when it is opened again."""
        own = frozenset[bytes]()

        def begun(packed: frozenset[bytes]) -> None:
            nonlocal own
            own = packed
            followed.is_open, followed.failures, followed.problem = True, 0, ""
            self._show()

        problem, broke = "", False
        try:
            await read_dns_log(
                NameServer(address, self._settings.port),
                self._settings,
                begun,
                lambda frame: self._messages.take(frame, own),
            )
        except Exception as error:  # noqa: BLE001 -- whatever it is, the other logs go on
            problem, broke = describe(error), not isinstance(error, DnsLogEndedError)
        if not followed.is_open:
            followed.failures += 1
            self._tell(address, followed, problem)
        elif broke:
            self._tell_break(address, followed, problem)
        self._metrics.dns_log_ended()
        pause = min(FIRST_RETRY_S * 2.0 ** max(followed.failures - 1, 0), LAST_RETRY_S)
        followed.retry_at = self._elapsed() + pause
        followed.is_open, followed.task = False, None
        self._show()

    @staticmethod
    def _tell(address: str, followed: _Followed, problem: str) -> None:
        """Log once why a log does not open."""
        if problem != followed.problem:
            _log.warning("a DNS log cannot be had: trying again", pod=address, problem=problem)
        followed.problem = problem

    def _tell_break(self, address: str, followed: _Followed, problem: str) -> None:
        """Log why an open log is read no further; not that its connection is gone."""
        now = self._elapsed()
        if now - followed.broke_at >= TOLD_AGAIN_S:
            _log.warning("a DNS log broke: opening it again", pod=address, problem=problem)
            followed.broke_at = now

    @staticmethod
    def _stop(followed: _Followed) -> None:
        if followed.task is not None:
            followed.task.cancel()

    def _show(self) -> None:
        self._metrics.dns_logs(sum(each.is_open for each in self._followed.values()))
