"""Pods created without a pause through kube-apiserver, whatever becomes of it: each is noted."""

import asyncio
import enum
import http
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Final

import aiohttp

from network.connector import Connector
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.client import Json
from tests.harness.worlds.pods import RESTRICTED

TRAIN: Final = "train"
CALM_S: Final = 3.0
"""So long all must have gone well before a fault counts as over."""
_LATELY_S: Final = 10.0
"""Answers take seconds on a machine that does other things."""
_IN_FLIGHT: Final = 400
_TIMEOUT_S: Final = 30.0
_NUMBERS: Final = count()
_JUDGES: Final = ('.sallyport.dev" denied', "ValidatingAdmissionPolicy")
"""Others refuse too: right after its start, kube-apiserver does not know all roles yet."""


class What(enum.Enum):
    """What became of a request."""

    ADMITTED = "admitted"
    DENIED = "denied"
    """A person is told that it is not allowed."""
    ERROR = "error"
    """An answer that nobody could judge or store it."""
    UNREACHED = "no answer"
    """From kube-apiserver itself."""


@dataclass(frozen=True)
class Asked:
    """One request."""

    at: float
    """time.monotonic() when it was sent."""
    seconds: float
    good: bool
    what: What
    name: str
    message: str = ""

    @property
    def right(self) -> bool:
        """Whether it is as if nothing were wrong."""
        return self.what is (What.ADMITTED if self.good else What.DENIED)


@dataclass
class Load:
    """Sends Pods that all may run, and Pods that nobody may, at a steady rate."""

    server: ApiServer
    per_second: float
    asked: list[Asked] = field(default_factory=list)
    left_out: int = 0
    """Requests that were not sent, as too many waited."""
    _over: threading.Event = field(default_factory=threading.Event)

    async def run(self) -> None:
        """Send until told to stop, then wait for what is on its way."""
        connector = Connector(self.server.ssl_context, _IN_FLIGHT)
        headers = {"Authorization": f"Bearer {self.server.user('alice').token}"}
        timeout = aiohttp.ClientTimeout(_TIMEOUT_S)
        async with aiohttp.ClientSession(
            self.server.url, connector=connector, timeout=timeout, headers=headers
        ) as session:
            waiting: set[asyncio.Task[None]] = set()
            next_at = time.monotonic()
            while not self._over.is_set():
                await asyncio.sleep(max(0.0, next_at - time.monotonic()))
                next_at = max(next_at + 1 / self.per_second, time.monotonic() - 1.0)
                if len(waiting) >= _IN_FLIGHT:
                    self.left_out += 1
                    continue
                number = next(_NUMBERS)
                task = asyncio.create_task(self._ask(session, number, good=number % 3 != 0))
                waiting.add(task)
                task.add_done_callback(waiting.discard)
            await asyncio.gather(*waiting)

    async def _ask(self, session: aiohttp.ClientSession, number: int, *, good: bool) -> None:
        began = time.monotonic()
        name = f"{'good' if good else 'bad'}-{number}"
        what, message = What.UNREACHED, ""
        try:
            path = f"/api/v1/namespaces/{TRAIN}/pods"
            async with session.post(path, json=_pod(name, good=good)) as answer:
                status, body = answer.status, await answer.json(content_type=None)
                what, message = _what(status, body), str(body.get("message", ""))
        except (OSError, aiohttp.ClientError, TimeoutError, ValueError) as error:
            message = type(error).__name__
        took = time.monotonic() - began
        self.asked.append(Asked(began, took, good, what, name, message))

    def stop(self) -> None:
        """Send no more."""
        self._over.set()

    def since(self, moment: float) -> list[Asked]:
        """Return what was sent since then and has ended."""
        return [each for each in list(self.asked) if each.at >= moment]

    def last_wrong(self, since: float) -> float:
        """Return when the last one that went wrong was sent; `since` if none did."""
        return max((each.at for each in self.since(since) if not each.right), default=since)

    def is_calm(self, since: float) -> bool:
        """Whether for CALM_S nothing went wrong, and lately something went right."""
        lately = self.since(max(since, time.monotonic() - _LATELY_S))
        quiet = time.monotonic() - self.last_wrong(since) > CALM_S
        return quiet and {each.good for each in lately if each.right} == {True, False}


def _what(status: int, body: Json) -> What:
    if status == http.HTTPStatus.CREATED:
        return What.ADMITTED
    judged = any(by in str(body.get("message")) for by in _JUDGES)
    return What.DENIED if status == http.HTTPStatus.FORBIDDEN and judged else What.ERROR


def _pod(name: str, *, good: bool) -> Json:
    pod = RESTRICTED.pod()
    pod["metadata"] = {"name": name, "namespace": TRAIN}
    if not good:
        pod["spec"]["containers"][0]["securityContext"] = {"privileged": True}
    return pod


@contextmanager
def loaded(server: ApiServer, per_second: float) -> Iterator[Load]:
    """Load a kube-apiserver, on a thread of its own, while the context lasts."""
    load = Load(server, per_second)
    thread = threading.Thread(target=lambda: asyncio.run(load.run()), daemon=True)
    thread.start()
    try:
        yield load
    finally:
        load.stop()
        thread.join(_TIMEOUT_S + 5)
    assert not thread.is_alive()
