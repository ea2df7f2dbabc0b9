"""Access reviews (authorization.k8s.io/v1): who may do what, asked of kube-apiserver.

Answers are remembered for a few seconds, so that a gang of Pods asks once.
"""

import asyncio
import hashlib
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

import msgspec

from core.base import names
from core.base.errors import AccessReviewError, ClusterError, OverloadError
from core.base.fair_queue import FairQueue, Flow
from core.people.subject import Subject
from kube.client.connection import Connection
from kube.client.settings import LiveSettings
from kube.client.singleflight import SingleFlight

Key = tuple[bytes, str, str, str, str]
"""A digest of the subject; verb, resource, name and namespace."""

PATH: Final = "/apis/authorization.k8s.io/v1/subjectaccessreviews"


_LONGEST_KEPT: Final = 1024
"""Characters of a question that is kept: whoever writes a Role writes the name."""

_MOST_WAITING: Final = 256
"""Of one namespace."""


def digest_of(subject: Subject) -> bytes:
    """Return a digest of a subject; the order of groups is not of it."""
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
        """Return the key; `digest` is the subject's."""
        return digest, self.verb, self.resource, self.name, self.namespace


Ask = Callable[[AccessQuestion], Awaitable[bool]]
"""Puts a question to the cluster; raises AccessReviewError when it did not say."""


class AccessCache:
    """Answers of an asker, each remembered for a while from the moment it was asked.

    Identical questions that are asked at the same time are put once (`kube.client.singleflight`).
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
        self._asking = SingleFlight[Key, bool]()
        self.hits = 0
        """Questions answered from memory, or by a question already on its way."""
        self.misses = 0
        """Questions put to the cluster."""

    def __len__(self) -> int:
        return len(self._answers)

    @property
    def errors(self) -> int:
        """Of the questions put to the cluster, those that it did not answer."""
        return self._asking.errors

    def remembered_access(self, question: AccessQuestion) -> bool | None:
        """Answer from memory; None where that is not possible."""
        return self._remembered(self._key(question))

    def _key(self, question: AccessQuestion) -> Key:
        """Return the key: one review asks about many profiles for one subject with many groups."""
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
        if key in self._asking:
            self.hits += 1
        else:
            self.misses += 1
        return await self._asking.answer(key, partial(self._ask_cluster, key, question))

    async def close(self) -> None:
        """Stop all that is being asked."""
        await self._asking.close()

    async def _ask_cluster(self, key: Key, question: AccessQuestion) -> bool:
        asked = self._clock()
        answer = await self._ask(question)
        if sum(map(len, key)) > _LONGEST_KEPT:
            return answer
        self._answers[key] = (answer, asked + self._ages[answer])
        self._answers.move_to_end(key)
        if len(self._answers) > self._size:
            self._answers.popitem(last=False)
        return answer


class _Status(msgspec.Struct, rename="camel"):
    allowed: bool
    denied: bool = False
    reason: str = ""
    evaluation_error: str = ""


class _Review(msgspec.Struct):
    status: _Status


class AccessReviews:
    """Puts questions to kube-apiserver, so many at a time and no longer."""

    def __init__(self, connection: Connection, settings: LiveSettings) -> None:
        self._connection = connection
        self._timeout_s = settings.review_timeout_s
        self._turns = FairQueue(settings.reviews_in_flight, _MOST_WAITING)

    async def ask(self, question: AccessQuestion) -> bool:
        """Put one question.

        Raises:
            AccessReviewError: no answer in time, a failure, or an authorizer's own error.
                Never a denial.
        """
        what = f"{question.verb} {question.resource}.{names.GROUP}/{question.name}"
        try:
            flow = Flow(question.namespace, question.subject.username)
            async with asyncio.timeout(self._timeout_s), self._turns.seat(flow):
                body = await self._post(question)
            return _read(body, what)
        except TimeoutError as error:
            message = f"no answer in {self._timeout_s:g} s"
            raise _not_said(what, message) from error
        except (ClusterError, OverloadError) as error:
            raise _not_said(what, str(error)) from error

    async def _post(self, question: AccessQuestion) -> bytes:
        review = _review(question)
        try:
            return await self._connection.post(PATH, self._timeout_s, review)
        except ClusterError as error:
            if error.status:
                raise
            # A kept connection may have been closed meanwhile; a review changes nothing, so it
            # may be sent twice.
            return await self._connection.post(PATH, self._timeout_s, review)


def _review(question: AccessQuestion) -> dict[str, object]:
    user = question.subject
    attributes = {
        "namespace": question.namespace,
        "verb": question.verb,
        "group": names.GROUP,
        "resource": question.resource,
        "name": question.name,
    }
    return {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {
            "user": user.username,
            "uid": user.uid,
            "groups": user.groups,
            "extra": user.extra,
            "resourceAttributes": attributes,
        },
    }


def _read(body: bytes, what: str) -> bool:
    try:
        status = msgspec.json.decode(body, type=_Review).status
    except msgspec.DecodeError as error:
        raise _not_said(what, f"the answer is no SubjectAccessReview: {error}") from error
    if status.evaluation_error and not status.allowed:
        raise _not_said(what, f"the authorizer failed: {status.evaluation_error}")
    if status.allowed and status.denied:
        raise _not_said(what, "the answer says both yes and no")
    return status.allowed


def _not_said(what: str, why: str) -> AccessReviewError:
    return AccessReviewError(f"the cluster did not say who may {what}: {why}")
