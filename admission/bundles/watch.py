"""Watches which bundle must be in force: a file, or what is published in the cluster.

A published bundle is loaded as soon as it is wanted, and put in force when it is active, which
`control` says once every gate has loaded it. Where none is published, each process has the bundle
of its own settings, and watches its file.
"""

import asyncio
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Final, Protocol

import structlog

from admission.bundles.active import BundleLoader
from core.base.errors import BundleRefusedError, ClusterError, EngineAwayError
from core.base.safe_text import LONGEST_PROBLEM, traceback_places
from core.base.times import time_text
from core.policy_bundles import BASE, BundleHead, GateAnnouncement, PublishedBundle
from policies.bundle.file_source import FileSource
from policies.bundle.format import Bundle, parse_bundle
from policies.bundle.signatures import NO_KEYS, BundleKeys

BEAT_S: Final = 20.0
"""How often a gate writes that it is there still."""

RETRY_S: Final = 2.0
"""Seconds until what the cluster did not give is asked for again."""

PAUSE_S: Final = 1.0
"""Seconds until following begins again that a defect has ended; twice as many each time."""

LONGEST_PAUSE_S: Final = 60.0
"""At most so many; who followed for so long begins with the shortest again."""

_log = structlog.get_logger(__name__)


class PublishedBundles(Protocol):
    """What is published in the cluster. Implemented by `kube.bundles.watch`."""

    @property
    def head(self) -> BundleHead | None:
        """The last head that could be read; None before the cluster's first answer."""

    @property
    def problem(self) -> str:
        """Why `head` is not known; empty where it is."""

    async def run(self) -> None:
        """Keep the head until cancelled."""

    async def fetch(self, stored: PublishedBundle) -> bytes:
        """Return the file of a bundle; raises ClusterError."""

    async def announce(self, name: str, announcement: GateAnnouncement) -> None:
        """Write what this process has loaded; raises ClusterError."""

    async def leave(self, name: str) -> None:
        """Take that back; raises ClusterError."""


@dataclass
class BundleWatch:
    """Keeps in force what is to be; run `run` as a task."""

    bundles: BundleLoader
    base: Bundle
    """Of this process's own settings; in force when this begins."""
    file: FileSource | None = None
    """Where it is from, to be followed; None of what never changes."""
    keys: BundleKeys = NO_KEYS
    """By which published bundles must be signed."""
    name: str = ""
    """By which this process announces what it has loaded; empty where nobody waits for it."""
    poll_s: float = 2.0
    """How often the file is looked at."""
    clock: Callable[[], float] = time.time
    """Unix seconds."""
    published: PublishedBundles | None = field(default=None, init=False)
    """Of a real cluster; see `heed`."""
    _wake: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    _turn: int = field(default=-1, init=False)
    _settled: bool = field(default=False, init=False)
    _problem: str = field(default="not asked yet", init=False)
    _beat: int = field(default=0, init=False)
    _unannounced: str = field(default="", init=False)
    _ended: str = field(default="", init=False)
    _untaken: bool = field(default=False, init=False)
    _one: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)
    """Held while what is loaded and in force changes: else the file's next bundle could come
    while the one before is tried out, and that one be put in force for good."""

    def wake(self) -> None:
        """Look at once: the head has changed."""
        self._wake.set()

    def missing(self) -> list[str]:
        """Say what keeps the active bundle from being in force at the beginning, for a person.

        Later, what is in force stays so whatever happens: nothing is missing then, unless nobody
        follows.
        """
        if self._ended or self._settled or self.published is None:
            return self.ended()
        head = self.published.head
        if head is None:
            return [f"which bundle is active is not known: {self.published.problem}"]
        why = self.bundles.refused.get(head.active, self._problem)
        return [f"the active bundle {head.active} is not in force: {why}"]

    def ended(self) -> list[str]:
        """Say that bundles are not followed now, for a person; empty while they are."""
        return [self._ended] if self._ended else []

    def follow_published(self, published: PublishedBundles) -> None:
        """Follow what is published too: nothing is judged until it is known what is active."""
        self.published = published
        self.bundles.in_force.waits_for = self.missing

    async def run(self) -> None:
        """Follow until cancelled. What ends it otherwise, a defect, is logged, and it begins again.

        Until what is published (or in the file) was followed once more, that is missing.
        """
        pause_s = PAUSE_S
        while True:
            began = time.monotonic()
            try:
                await self._run()
            except Exception as error:  # noqa: BLE001 -- whatever it is, following goes on
                self._ended = (
                    f"policy bundles are not followed ({type(error).__name__}: {error}): report "
                    "this defect; it is tried again"
                )
                self.bundles.in_force.waits_for = self.missing
                at = traceback_places(error)
                _log.error("policy bundles: defect", problem=self._ended, at=at, again_in_s=pause_s)
            if time.monotonic() - began > LONGEST_PAUSE_S:
                pause_s = PAUSE_S
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
            self.bundles.counts.restarts += 1
            self._wake.set()

    async def _run(self) -> None:
        jobs = [self._follow_file(), self._follow_head()]
        if self.published is not None:
            jobs.append(self.published.run())
        if self.published is not None and self.name:
            jobs.append(self._keep_announcing())
        tasks = [asyncio.create_task(job) for job in jobs]
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _follows(self) -> None:
        """Note that a whole turn went well."""
        if self._ended:
            _log.info("policy bundles are followed again")
        self._ended = ""
        if self._settled or self.published is None:
            self.bundles.in_force.waits_for = None

    async def _follow_file(self) -> None:
        while self.file is not None:
            await asyncio.sleep(self.poll_s)
            try:
                found = await asyncio.to_thread(self.file.changed)
            except BundleRefusedError as error:
                self.bundles.refuse(BASE, str(error))
                found = None
            if found is not None or self._untaken:
                await self._take(found or self.base)
            if self.published is None:
                self._follows()

    async def _take(self, base: Bundle) -> None:
        """Put what is in the file in force, or have it loaded anew where it is wanted."""
        async with self._one:
            self.base, self._untaken = base, True
            if self.bundles.name == BASE:
                try:
                    await self._put_base()
                except EngineAwayError as error:
                    self._note(error)
                    return
            else:
                await self.bundles.drop(BASE)
            self._untaken = False
        self._wake.set()

    async def _put_base(self) -> None:
        """Put what is in the file in force.

        Raises:
            EngineAwayError: it cannot be tried out now.
        """
        if self.base.revision == self.bundles.in_force.engine.revision:
            self.bundles.refused.pop(BASE, None)
        elif await self.bundles.load(BASE, lambda: self.base) and self.bundles.name == BASE:
            self.bundles.activate(BASE)

    async def _follow_head(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            head = self.published.head if self.published is not None else None
            if head is None:
                continue
            try:
                async with self._one:
                    await self._follow(head)
            except (ClusterError, EngineAwayError) as error:
                self._note(error)
                pause_s = RETRY_S * random.uniform(0.5, 1.0)  # noqa: S311 -- spreads load
                asyncio.get_running_loop().call_later(pause_s, self._wake.set)
            else:
                self._problem = ""
            self._follows()
            await self._announce()

    def _note(self, error: ClusterError | EngineAwayError) -> None:
        if str(error) != self._problem:
            _log.warning("policy bundle cannot be loaded now: trying again", problem=str(error))
        self._problem = str(error)

    async def _follow(self, head: BundleHead) -> None:
        """Load what is active, then what is wanted; put in force what is active."""
        if head.turn != self._turn:
            self.bundles.refused.clear()
            self._turn = head.turn
        await self.bundles.drop_all_but(head.active, head.wanted)
        if head.active != self.bundles.name and await self._load(head, head.active):
            self.bundles.activate(head.active)
        if head.active == self.bundles.name:
            self._settled = True
        if head.wanted != self.bundles.name:
            await self._load(head, head.wanted)

    async def _load(self, head: BundleHead, name: str) -> bool:
        """Make a bundle ready; say whether it is.

        Raises:
            ClusterError: it cannot be fetched now.
            EngineAwayError: it cannot be tried out now.
        """
        bundles = self.bundles
        if name in bundles.loaded:
            return True
        if name in bundles.refused:
            return False
        if name == BASE:
            return await bundles.load(BASE, lambda: self.base)
        stored = head.of(name)
        if stored is None or self.published is None:
            bundles.refuse(name, "no such bundle is published: 'sallyport policy activate FILE'")
            return False
        packed = await self.published.fetch(stored)
        return await bundles.load(name, partial(_parse, packed, stored, self.keys))

    async def _keep_announcing(self) -> None:
        try:
            while True:
                wait_s = RETRY_S if self._unannounced else BEAT_S
                await asyncio.sleep(wait_s * random.uniform(0.8, 1.0))  # noqa: S311 -- spreads load
                await self._announce()
        finally:
            if self.published is not None:
                try:
                    async with asyncio.timeout(1.0):
                        await self.published.leave(self.name)
                except (ClusterError, TimeoutError):
                    _log.info("what was announced stays until control takes it away")

    async def _announce(self) -> None:
        if self.published is None or not self.name:
            return
        self._beat += 1
        try:
            await self.published.announce(self.name, self.announcement())
        except ClusterError as error:
            if str(error) != self._unannounced:
                _log.warning("gate cannot say which bundles it has loaded", problem=str(error))
            self._unannounced = str(error)
        else:
            self._unannounced = ""

    def announcement(self) -> GateAnnouncement:
        """Say what is in force, loaded and refused."""
        return GateAnnouncement(
            in_force=self.bundles.name,
            revision=self.bundles.in_force.engine.revision,
            loaded=self.bundles.loaded,
            refused={name: why[:LONGEST_PROBLEM] for name, why in self.bundles.refused.items()},
            turn=max(self._turn, 0),
            beat=self._beat,
            at=time_text(self.clock()),
            problem="" if self._turn < 0 else self._problem[:LONGEST_PROBLEM],
            foreign=self.bundles.foreign,
        )


def _parse(packed: bytes, stored: PublishedBundle, keys: BundleKeys) -> Bundle:
    bundle = parse_bundle(packed, f"bundle {stored.revision}", keys)
    if bundle.revision != stored.revision:
        raise BundleRefusedError(
            f"bundle {stored.revision}: its revision is {bundle.revision}: publish it again with "
            "'sallyport policy activate FILE'"
        )
    return bundle
