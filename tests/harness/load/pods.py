"""Pods asked for at a steady rate through kube-apiserver, good and bad, and what became of them."""

import asyncio
import re
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import aiohttp

from tests.harness.programs.client import ApiStatusError, Client, Json, Outcome

WEBHOOKS_OF_A_POD: Final = 2
_EVERY_BAD: Final = 10
"""One Pod of so many is one that must be refused."""

_FAILURES: Final = re.compile(
    r"^(?:apiserver_admission_webhook_fail_open_count"
    r"|apiserver_admission_webhook_rejection_count)\{(.*)\} (\S+)$",
    re.MULTILINE,
)


@dataclass
class SteadyLoad:
    """Dry runs of Pods in one namespace, by somebody who may have the good one alone."""

    client: Client
    namespace: str
    good: Callable[[], Json]
    bad: Callable[[], Json]
    pods_per_second: float
    at_once: int = 1
    """How many are asked for in the same moment: the webhooks' client opens connections for each.

    One after the other they all go over one connection, and so to one gate.
    """
    outcomes: "Counter[str]" = field(default_factory=Counter)
    """`allowed` and `denied` as they must be; everything else is wrong."""
    waits: list[float] = field(default_factory=list)
    """Seconds that each took."""
    failures: list[tuple[float, str]] = field(default_factory=list)
    """When (seconds since the beginning), and what, of whatever went wrong."""
    over: bool = False
    _number: int = 0
    _began: float = 0.0

    async def run(self, workers: int = 8) -> None:
        """Ask until `over`."""
        self._began = time.monotonic()
        async with asyncio.TaskGroup() as group:
            for _ in range(workers):
                group.create_task(self._work())

    @property
    def reviews_per_second(self) -> float:
        """How many reviews a second there were, both webhooks together."""
        return WEBHOOKS_OF_A_POD * len(self.waits) / (time.monotonic() - self._began)

    def percentile(self, share: float) -> float:
        """Return a percentile of the waits, in milliseconds."""
        waits = sorted(self.waits)
        return waits[min(len(waits) - 1, int(len(waits) * share))] * 1000

    async def _work(self) -> None:
        while not self.over:
            number, self._number = self._number, self._number + 1
            due = self._began + number // self.at_once * self.at_once / self.pods_per_second
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            await self._ask(bad=number % _EVERY_BAD == 0)

    async def _ask(self, *, bad: bool) -> None:
        began = time.monotonic()
        try:
            pod = self.bad() if bad else self.good()
            answer = await self.client.dry_run_create(pod, self.namespace)
        except (ApiStatusError, aiohttp.ClientError, TimeoutError) as error:
            self._fail("failed", str(error))
            return
        self.waits.append(time.monotonic() - began)
        expected = Outcome.DENIED if bad else Outcome.ALLOWED
        if answer.outcome is not expected:
            self._fail(f"{answer.outcome.value} and not {expected.value}", answer.message)
        elif bad and "denied the request" not in answer.message:
            self._fail("failed", answer.message)
        else:
            self.outcomes["denied" if bad else "allowed"] += 1

    def _fail(self, outcome: str, message: str) -> None:
        self.outcomes[outcome] += 1
        self.failures.append((time.monotonic() - self._began, message[:300]))


async def failed_calls(client: Client) -> float:
    """Return how many calls of webhooks failed so far, those that fail open among them."""
    _, answer = await client.request("GET", "/metrics")
    return sum(
        float(count)
        for labels, count in _FAILURES.findall(answer["message"])
        if "no_error" not in labels
    )
