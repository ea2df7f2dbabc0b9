"""What must be asked for, to say what allowlists mean: Pods behind Services, rights to sets.

What was once answered is asked again after a while, and counts until then; where it cannot be asked
again, the last answer stays, and is told.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

from core.base import names
from core.base.errors import AccessReviewError, ClusterError, InvalidObjectError
from core.base.networks import Network
from core.people.subject import service_account_subject
from egress.compiler.allowlists import References, Right, ServiceKey
from egress.compiler.service_backends import known_service
from egress.model.facts import KnownService
from kube.client.objects import Objects
from kube.cluster.access_reviews import AccessQuestion, Ask
from kube.egress.service_endpoints import endpoints_of
from kube.egress.watch import EgressWatch
from kube.resources.live_pods import list_live_pods

SERVICE_AGE_S: Final = 50.0
"""The Pods behind a Service are looked at again after so long, though no slice has changed."""
RIGHT_AGE_S: Final = 40.0
"""A right is asked for again after so long: it ends within a minute."""
SETTLE_S: Final = 0.5
"""A Service whose slices change is looked at no more often."""
AT_ONCE: Final = 8

_ERRORS: Final = (ClusterError, AccessReviewError, InvalidObjectError)

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


@dataclass
class _CachedAnswer(Generic[V]):
    value: V
    asked: float
    problem: str = ""


class CachedAnswers(Generic[K, V]):
    """Answers of one kind, by what was asked."""

    def __init__(
        self, ask: Callable[[K], Awaitable[V]], age_s: float, clock: Callable[[], float]
    ) -> None:
        self._ask = ask
        self._age_s = age_s
        self._clock = clock
        self._answers: dict[K, _CachedAnswer[V]] = {}
        self._stale: set[K] = set()
        self._turns = asyncio.Semaphore(AT_ONCE)

    def get(self, key: K) -> V | None:
        """Return the last answer; None where there is none."""
        found = self._answers.get(key)
        return found.value if found else None

    def problem(self, key: K) -> str:
        """Say why the last answer is old; empty where it is not, or where there is none."""
        found = self._answers.get(key)
        return found.problem if found else ""

    def distrust(self, key: K) -> None:
        """Have it asked again soon."""
        if key in self._answers:
            self._stale.add(key)

    def clear(self) -> None:
        """Forget all of them."""
        self._answers.clear()
        self._stale.clear()

    async def learn(self, keys: Iterable[K]) -> str:
        """Ask for what has no answer; say which of it could not be asked, empty for nothing."""
        missing = [key for key in keys if key not in self._answers]
        found = await asyncio.gather(*map(self._look, missing))
        return next((problem for _, problem in found if problem), "")

    async def refresh(self, wanted: Iterable[K], most: int) -> list[K]:
        """Ask again for what is old, the oldest first; forget what is not wanted.

        Gives what has another answer now.
        """
        keep = set(wanted)
        self._answers = {key: each for key, each in self._answers.items() if key in keep}
        self._stale &= keep
        now = self._clock()
        due = [
            (each.asked, key)
            for key, each in self._answers.items()
            if now - each.asked >= (SETTLE_S if key in self._stale else self._age_s)
        ]
        due.sort(key=lambda each: each[0])
        chosen = [key for _, key in due[:most]]
        found = await asyncio.gather(*map(self._look, chosen))
        return [key for key, (changed, _) in zip(chosen, found, strict=True) if changed]

    async def _look(self, key: K) -> tuple[bool, str]:
        """Ask once; say whether the answer, or what is told of it, is another, and what failed."""
        before = self._answers.get(key)
        async with self._turns:
            asked = self._clock()
            self._stale.discard(key)
            try:
                value = await self._ask(key)
            except _ERRORS as error:
                if before is None:
                    return False, str(error)
                self._answers[key] = _CachedAnswer(before.value, asked, str(error))
                return before.problem != str(error), str(error)
        self._answers[key] = _CachedAnswer(value, asked)
        return before is None or (before.value, before.problem) != (value, ""), ""


@dataclass
class EgressLookups:
    """The answers that rendering needs."""

    objects: Objects
    world: EgressWatch
    ask: Ask
    pod_ranges: tuple[Network, ...] | None = ()
    """Where an address behind a Service counts (`RenderTarget.backend_ranges`); None: anywhere."""
    clock: Callable[[], float] = time.monotonic
    services: CachedAnswers[ServiceKey, KnownService | None] = field(init=False)
    rights: CachedAnswers[Right, bool] = field(init=False)

    def __post_init__(self) -> None:
        """Make both kinds of answers."""
        self.services = CachedAnswers(self._ask_service, SERVICE_AGE_S, self.clock)
        self.rights = CachedAnswers(self._ask_right, RIGHT_AGE_S, self.clock)

    async def learn(self, references: References) -> str:
        """Ask for all that has not been asked for; say what failed, empty for nothing."""
        found = await asyncio.gather(
            self.services.learn(references.services), self.rights.learn(references.rights)
        )
        return next(filter(None, found), "")

    def known_services(self, references: References) -> Mapping[ServiceKey, KnownService]:
        """Return the Services that there are."""
        found = ((key, self.services.get(key)) for key in references.services)
        return {key: each for key, each in found if each is not None}

    def usable(self, references: References) -> frozenset[Right]:
        """Return the rights that there are."""
        return frozenset(each for each in references.rights if self.rights.get(each))

    def notes(self, references: References) -> tuple[str, ...]:
        """Say which answers are old, because they cannot be asked for again."""
        old = [*map(self.services.problem, references.services)]
        old += map(self.rights.problem, references.rights)
        said = sorted(filter(None, old))
        return tuple(f"what was known before still counts: {each}" for each in dict.fromkeys(said))

    def clear(self) -> None:
        """Forget all of it."""
        self.services.clear()
        self.rights.clear()

    async def _ask_service(self, key: ServiceKey) -> KnownService | None:
        shape = self.world.services.objects.get("/".join(key))
        if shape is None or shape.external_name:
            return known_service(shape, (), (), ()) if shape else None
        endpoints = await endpoints_of(self.objects, *key)
        asks = bool(endpoints) and not shape.is_api_server
        pods = await list_live_pods(self.objects, key[0], dict(shape.selector)) if asks else []
        return known_service(shape, endpoints, pods, self.pod_ranges)

    async def _ask_right(self, right: Right) -> bool:
        namespace, account, name = right
        subject = service_account_subject(namespace, account)
        resource = names.DESTINATIONS_RESOURCE
        question = AccessQuestion(subject, names.USE_VERB, resource, name, namespace)
        return await self.ask(question)
