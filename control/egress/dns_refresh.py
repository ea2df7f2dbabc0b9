"""Resolves the DNS names of allowlists, and stores each address before anything opens by it."""

import asyncio
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final, Protocol

import structlog

from control.egress.dns_store import DnsStore
from control.loop import Loop
from core.base.networks import Network
from egress.dns.learnt_names import DnsReply, LearntName, NamesSettings, is_due, keep_wanted, learn
from egress.dns.usable_addresses import LearntNames
from kube.leader.lease import Leadership

INTERVAL_S: Final = 0.5
SAVE_S: Final = 60.0
"""That an address was seen again is stored so often; a new address at once."""
MOST_AT_ONCE: Final = 200
"""Names in one run."""

_log = structlog.get_logger(__name__)


class NameServers(Protocol):
    """Name servers."""

    async def ask(self, name: str) -> Sequence[DnsReply]:
        """Return what each of them says of a name; whatever they do, nothing is raised."""


class DnsRefresh:
    """What is known of names. `loop` is its loop; `source` is what may be opened by."""

    def __init__(  # noqa: PLR0913, PLR0917  Each is another part of the process.
        self,
        store: DnsStore,
        resolver: NameServers,
        wanted: Callable[[], Collection[str]],
        changed: Callable[[str], None],
        reserved: tuple[Network, ...],
        settings: NamesSettings,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Take which names are wanted, and whom to tell that one has changed."""
        self._store = store
        self._resolver = resolver
        self._wanted = wanted
        self._changed = changed
        self._reserved = reserved
        self._settings = settings
        self._clock = clock
        self._saved_at = 0.0
        self._loading = asyncio.Lock()
        self.loaded = False
        """Whether what was stored has been read in this term."""
        self.failures = 0
        """Answers that name servers did not give, since the start of the process."""
        self.source = LearntNames({}, reserved, settings)
        self.loop = Loop("egress-names", INTERVAL_S, self.run, forget=self._forget)

    async def load(self) -> None:
        """Read what was stored, once in a term.

        Raises:
            ClusterError: kube-apiserver does not answer, or refuses.
        """
        async with self._loading:
            if not self.loaded:
                self._publish(await self._store.load())
                self.loaded = True

    async def run(self, leadership: Leadership) -> None:
        """Ask for the names that are due, store what is new, then have it rendered.

        Raises:
            ClusterError: what was learnt could not be stored: nothing opens by it.
            NotLeaderError: leadership was lost on the way.
        """
        leadership.require()
        await self.load()
        before, now = self.source.state, self._clock()
        state = keep_wanted(before, self._wanted(), now, self._settings)
        asked = [
            name for name, each in state.items() if is_due(each, now) and each.unwanted is None
        ]
        asked.sort(key=lambda name: state[name].asked or 0.0)
        asked = asked[:MOST_AT_ONCE]
        answers = await asyncio.gather(*map(self._resolver.ask, asked))
        for name, replies in zip(asked, answers, strict=True):
            state[name] = learn(state[name], replies, self._clock(), self._settings)
            self.failures += sum(bool(reply.problem) for reply in replies)
        await self._save(leadership, before, state)
        changed = [name for name in state if _told(before.get(name)) != _told(state[name])]
        self._publish(state)
        for name in changed:
            self._changed(name)

    async def _save(
        self,
        leadership: Leadership,
        before: Mapping[str, LearntName],
        state: Mapping[str, LearntName],
    ) -> None:
        news = before.keys() != state.keys() or any(
            _addresses(before[name]) != _addresses(each)
            for name, each in state.items()
            if before[name] is not each
        )
        now = self._clock()
        if news or not 0 <= now - self._saved_at < SAVE_S:
            await self._store.save(leadership, state)
            self._saved_at = now

    def _publish(self, state: Mapping[str, LearntName]) -> None:
        self.source = LearntNames(state, self._reserved, self._settings)

    def _forget(self) -> None:
        self.loaded = False


def _addresses(learnt: LearntName) -> tuple[object, ...]:
    return tuple(each.address for each in learnt.seen)


def _told(learnt: LearntName | None) -> object:
    """Return what of a name changes policies, or what is told of them."""
    if learnt is None:
        return None
    return _addresses(learnt), learnt.problems, learnt.capped is None, learnt.asked is None
