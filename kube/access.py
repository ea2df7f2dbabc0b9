"""Remembering for a few seconds who may do what, so that a gang of Pods asks once."""

import asyncio
import hashlib
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial

import msgspec

from core.subject import Subject


@dataclass(frozen=True, slots=True)
class AccessQuestion:
    """May `subject` do `verb` on `resource`/`name` of the group sallyport.dev?"""

    subject: Subject
    verb: str
    resource: str
    name: str
    namespace: str

    @property
    def key(self) -> bytes:
        """A digest of all that the answer depends on; the order of groups is not of it."""
        user = self.subject
        extra = sorted(user.extra.items())
        groups = sorted(set(user.groups))
        asked = (self.verb, self.resource, self.name, self.namespace)
        whole = msgspec.json.encode((user.username, user.uid, groups, extra, asked))
        return hashlib.sha256(whole).digest()


Ask = Callable[[AccessQuestion], Awaitable[bool]]
"""Puts a question to the cluster; raises AccessReviewError when it did not say."""


class AccessCache:
    """Answers of an asker, each remembered for a while from the moment it was asked.

    Identical questions that are asked at the same time are put once, and one who stops
    waiting stops nobody else. An error is remembered by nobody: each waiter gets it, and the
    next one asks anew.
    """

    def __init__(
        self,
        ask: Ask,
        *,
        size: int = 20_000,
        allow_age_s: float = 10.0,
        deny_age_s: float = 2.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Keep at most `size` answers, those used last."""
        self._ask = ask
        self._size = size
        self._ages = {True: allow_age_s, False: deny_age_s}
        self._clock = clock
        self._answers: OrderedDict[bytes, tuple[bool, float]] = OrderedDict()
        self._asking: dict[bytes, asyncio.Task[bool]] = {}
        self.hits = 0
        """Questions answered from memory, or by a question already on its way."""
        self.misses = 0
        """Questions put to the cluster."""
        self.errors = 0
        """Of these, those that it did not answer."""

    def __len__(self) -> int:
        return len(self._answers)

    def known(self, question: AccessQuestion) -> bool | None:
        """Answer from memory; None where that is not possible."""
        return self._remembered(question.key)

    def _remembered(self, key: bytes) -> bool | None:
        answer, until = self._answers.get(key, (False, 0.0))
        if self._clock() >= until:
            return None
        self._answers.move_to_end(key)
        self.hits += 1
        return answer

    async def allowed(self, question: AccessQuestion) -> bool:
        """Answer from memory, or ask.

        Raises:
            AccessReviewError: the cluster did not say.
        """
        key = question.key
        if (answer := self._remembered(key)) is not None:
            return answer
        asking = self._asking.get(key)
        if asking is None:
            self.misses += 1
            asking = asyncio.create_task(self._ask_cluster(key, question))
            self._asking[key] = asking
            asking.add_done_callback(partial(self._asked, key))
        else:
            self.hits += 1
        return await asyncio.shield(asking)

    async def close(self) -> None:
        """Stop all that is being asked."""
        asking = list(self._asking.values())
        for task in asking:
            task.cancel()
        await asyncio.gather(*asking, return_exceptions=True)

    async def _ask_cluster(self, key: bytes, question: AccessQuestion) -> bool:
        asked = self._clock()
        answer = await self._ask(question)
        self._answers[key] = (answer, asked + self._ages[answer])
        self._answers.move_to_end(key)
        if len(self._answers) > self._size:
            self._answers.popitem(last=False)
        return answer

    def _asked(self, key: bytes, task: asyncio.Task[bool]) -> None:
        del self._asking[key]
        # Reading the exception also tells asyncio that it was seen when no one waits any more.
        if not task.cancelled() and task.exception() is not None:
            self.errors += 1
