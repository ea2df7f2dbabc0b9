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

Key = tuple[bytes, str, str, str, str]
"""A digest of the subject; verb, resource, name and namespace."""


def digest_of(subject: Subject) -> bytes:
    """Give a digest of a subject; the order of groups is not of it."""
    groups, extra = sorted(set(subject.groups)), sorted(subject.extra.items())
    whole = msgspec.json.encode((subject.username, subject.uid, groups, extra))
    return hashlib.sha256(whole).digest()


@dataclass(frozen=True, slots=True)
class AccessQuestion:
    """May `subject` do `verb` on `resource`/`name` of the group sallyport.dev?"""

    subject: Subject
    verb: str
    resource: str
    name: str
    namespace: str

    @property
    def key(self) -> Key:
        """All that the answer depends on; the order of groups is not of it."""
        return self.key_with(digest_of(self.subject))

    def key_with(self, digest: bytes) -> Key:
        """Give the key; `digest` is the subject's."""
        return digest, self.verb, self.resource, self.name, self.namespace


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
        self._answers: OrderedDict[Key, tuple[bool, float]] = OrderedDict()
        self._last: Subject | None = None
        self._digest = b""
        self._asking: dict[Key, asyncio.Task[bool]] = {}
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
        return self._remembered(self._key(question))

    def _key(self, question: AccessQuestion) -> Key:
        """Give the key: one review asks about many profiles for one subject with many groups."""
        if question.subject is not self._last:
            self._last, self._digest = question.subject, digest_of(question.subject)
        return question.key_with(self._digest)

    def _remembered(self, key: Key) -> bool | None:
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
        key = self._key(question)
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

    async def _ask_cluster(self, key: Key, question: AccessQuestion) -> bool:
        asked = self._clock()
        answer = await self._ask(question)
        self._answers[key] = (answer, asked + self._ages[answer])
        self._answers.move_to_end(key)
        if len(self._answers) > self._size:
            self._answers.popitem(last=False)
        return answer

    def _asked(self, key: Key, task: asyncio.Task[bool]) -> None:
        del self._asking[key]
        # Reading the exception also tells asyncio that it was seen when no one waits any more.
        if not task.cancelled() and task.exception() is not None:
            self.errors += 1
