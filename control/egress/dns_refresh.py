"""Resolves the DNS names of allowlists, and stores each address before anything opens by it."""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from typing import Final, Protocol

import msgspec
import structlog

from control.egress.dns_store import DnsStore
from control.egress.question_budget import QuestionBudget
from control.loop import Loop
from core.base.networks import Address, Network
from egress.dns.bursts import (
    Burst,
    ask_anew,
    begin_burst,
    estimate_share,
    is_over,
    is_question_due,
    is_unlearnt,
    judge_burst,
    note_reply,
)
from egress.dns.learnt_names import DnsReply, LearntName, NamesSettings, is_due, keep_wanted, learn
from egress.dns.resolver import Question
from egress.dns.usable_addresses import LearntNames
from kube.leader.lease import Leadership

INTERVAL_S: Final = 0.5
SAVE_S: Final = 60.0
"""That an address was seen again is stored so often; a new address at once."""
MOST_AT_ONCE: Final = 200
"""Names in one run."""
HINTS_S: Final = 2.0
"""Between two hints for one name."""
PATIENCE_S: Final = 0.25
"""A run waits so long for answers; those that take longer are the next run's."""

_log = structlog.get_logger(__name__)

_Asked = tuple[str, Question | None]
"""A name, and the one question of a burst; None for all servers at once."""


class NameServers(Protocol):
    """Name servers."""

    def questions(self) -> Sequence[Question]:
        """Return all questions by which different answers for a name may be had."""

    async def ask(self, name: str) -> Sequence[DnsReply]:
        """Return what each of them says of a name; whatever they do, nothing is raised."""

    async def ask_one(self, name: str, question: Question) -> DnsReply:
        """Return what one of them says; as `ask`."""


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
        *,
        bursts: Collection[int] = (4, 6),
    ) -> None:
        """Take which names are wanted, and whom to tell that one has changed.

        `bursts` are the families of addresses for which names are asked in bursts, those that the
        engine enforces; none for engines that learn names by themselves.
        """
        self._store = store
        self._resolver = resolver
        self._wanted = wanted
        self._changed = changed
        self._reserved = reserved
        self._settings = settings
        self._clock = clock
        self._families = frozenset(bursts)
        self._bursts: dict[str, Burst] = {}
        self._budget = QuestionBudget(settings.burst_questions)
        self._budgets: dict[str, QuestionBudget] = {}
        self._hints: set[str] = set()
        self._hinted: dict[str, float] = {}
        self._asking: dict[_Asked, asyncio.Task[Sequence[DnsReply]]] = {}
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
        state = keep_wanted(self._loaded(), self._wanted(), now, self._settings)
        self._begin(state, now)
        if self._asking:
            await asyncio.wait(self._asking.values(), timeout=PATIENCE_S)
        answered = [each for each, task in self._asking.items() if task.done()]
        replies = [(each[0], self._asking[each].result()) for each in answered]
        bursts = self._learn(state, replies)
        await self._save(leadership, before, state)
        for each in answered:
            del self._asking[each]
        self.failures += sum(
            bool(reply.problem) and not reply.is_extra for _, some in replies for reply in some
        )
        self._bursts = bursts
        changed = [name for name in state if _told(before.get(name)) != _told(state[name])]
        self._publish(state)
        for name in changed:
            self._changed(name)

    def takes_hints(self, name: str) -> bool:
        """Return whether a name would be asked for sooner, for an address that is not known."""
        now = self._clock()
        return (
            bool(self._families)
            and _is_wanted(self.source.state, name)
            and not 0 <= now - self._hinted.get(name, -math.inf) < HINTS_S
        )

    def hint(self, name: str, addresses: Sequence[Address]) -> bool:
        """Ask for a name soon if somebody was answered an address that is not known.

        The addresses open nothing: they are compared with those that our own servers gave, which
        are asked then, within the bounds of bursts. Returns whether they are asked.
        """
        if not self.takes_hints(name):
            return False
        known = {each.address for each in self.source.state[name].seen}
        if not any(each.version in self._families and each not in known for each in addresses):
            return False
        self._hinted[name] = self._clock()
        self._hints.add(name)
        return True

    def learning(self) -> tuple[int, float]:
        """Return how many names are still being learnt, and the largest share refused, 0 to 1."""
        names = (self.source.state.get(name) for name in self._bursts)
        found = [each for each in names if each is not None and each.learning is not None]
        return len(found), max((each.refused or 0 for each in found), default=0) / 100

    def _loaded(self) -> Mapping[str, LearntName]:
        """Return what is known; without bursts nobody says that a name is still learnt."""
        if self._families:
            return self.source.state
        return {name: _settled(each) for name, each in self.source.state.items()}

    def _begin(self, state: Mapping[str, LearntName], now: float) -> None:
        """Begin to ask for what is due."""
        for name in [each for each in self._bursts if not _is_wanted(state, each)]:
            del self._bursts[name]
        self._budgets = {
            name: self._budgets[name] for name in self._bursts if name in self._budgets
        }
        self._take_hints(state, now)
        due = [
            name
            for name, each in state.items()
            if name not in self._bursts
            and (name, None) not in self._asking
            and is_due(each, now)
            and each.unwanted is None
        ]
        due.sort(key=lambda name: state[name].asked or 0.0)
        for name in due[:MOST_AT_ONCE]:
            self._start((name, None), self._resolver.ask(name))
        for name, question in self._due_in_bursts(state, now):
            self._start((name, question), self._ask_one(name, question))

    def _take_hints(self, state: Mapping[str, LearntName], now: float) -> None:
        """Have names asked for of which a log shows an address that is not known."""
        for name in self._hints:
            if not _is_wanted(state, name):
                continue
            burst = self._bursts.get(name)
            self._bursts[name] = ask_anew(burst) if burst else begin_burst(state[name], now)
        self._hints.clear()
        self._hinted = {name: at for name, at in self._hinted.items() if 0 <= now - at < HINTS_S}

    def _due_in_bursts(
        self, state: Mapping[str, LearntName], now: float
    ) -> Iterator[tuple[str, Question]]:
        """Yield the questions of bursts that the bounds allow, the longest waiting names first."""
        if not self._bursts:
            return
        questions = self._questions()
        for name in sorted(self._bursts, key=lambda each: state[each].asked or 0.0):
            burst = self._bursts[name]
            due = [
                each
                for each in questions
                if (name, each) not in self._asking
                and is_question_due(burst, each.key, now, self._settings)
            ]
            due.sort(key=lambda each: burst.due.get(each.key, 0.0))  # The longest waiting first.
            own = self._budgets.setdefault(
                name, QuestionBudget(self._settings.burst_name_questions)
            )
            allowed = own.take(len(due), now)
            given = self._budget.take(allowed, now)
            own.give_back(allowed - given)
            yield from ((name, each) for each in due[:given])
            if given < allowed:
                return

    def _questions(self) -> list[Question]:
        return [each for each in self._resolver.questions() if each.family in self._families]

    def _start(self, asked: _Asked, asking: Awaitable[Sequence[DnsReply]]) -> None:
        self._asking[asked] = asyncio.ensure_future(asking)

    async def _ask_one(self, name: str, question: Question) -> Sequence[DnsReply]:
        return (await self._resolver.ask_one(name, question),)

    def _learn(
        self,
        state: dict[str, LearntName],
        answered: Sequence[tuple[str, Sequence[DnsReply]]],
    ) -> dict[str, Burst]:
        """Take answers into the state; return the bursts as they are then."""
        bursts, now = dict(self._bursts), self._clock()
        for name, replies in answered:
            if name not in state:
                continue
            learnt, burst = state[name], bursts.get(name)
            state[name] = learn(learnt, replies, now, self._settings, in_part=burst is not None)
            if self._families and (burst or self._shows_more(learnt, state[name])):
                burst = burst or begin_burst(learnt, now)
                for reply in replies:
                    if reply.family not in self._families:
                        continue
                    burst = note_reply(burst, reply, now, self._settings)
                bursts[name] = estimate_share(state[name], burst)
        keys = {each.key for each in self._questions()} if bursts else set()
        for name, burst in list(bursts.items()):
            over = is_over(burst, keys, now, self._settings)
            state[name] = judge_burst(state[name], burst, now, self._settings, over=over)
            if over and not is_unlearnt(burst):
                del bursts[name]
        return bursts

    def _shows_more(self, before: LearntName, after: LearntName) -> bool:
        """Return whether an answer had an address that was not known, or the name is unlearnt."""
        known = {each.address for each in before.seen}
        return before.learning is not None or any(
            each.address.version in self._families and each.address not in known
            for each in after.seen
        )

    async def _save(
        self,
        leadership: Leadership,
        before: Mapping[str, LearntName],
        state: Mapping[str, LearntName],
    ) -> None:
        news = before.keys() != state.keys() or any(
            _stored_at_once(before[name]) != _stored_at_once(each)
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
        for each in self._asking.values():
            each.cancel()
        self._asking.clear()
        self._bursts.clear()
        self._hints.clear()
        self._hinted.clear()


def _settled(learnt: LearntName) -> LearntName:
    if learnt.learning is None:
        return learnt
    return msgspec.structs.replace(learnt, learning=None, refused=None)


def _is_wanted(state: Mapping[str, LearntName], name: str) -> bool:
    return name in state and state[name].unwanted is None


def _answers(learnt: LearntName) -> tuple[object, ...]:
    addresses = tuple(each.address for each in learnt.seen)
    return addresses, tuple(each.name for each in learnt.aliases)


def _stored_at_once(learnt: LearntName) -> object:
    return _answers(learnt), learnt.learning is None


def _told(learnt: LearntName | None) -> object:
    """Return what of a name changes policies, or what is told of them."""
    if learnt is None:
        return None
    shown = learnt.capped is None, learnt.asked is None, learnt.learning is None
    return _answers(learnt), learnt.problems, shown, learnt.refused, learnt.pool
