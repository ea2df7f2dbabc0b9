"""Takes policy bundles from a registry: what is new there is checked, published and wanted.

Gates never ask a registry. What cannot be had, or is refused, changes nothing: what is in force
stays so, and it is said why.
"""

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final

import msgspec
import structlog
from prometheus_client import CollectorRegistry, Counter, Gauge

from control.loop import Loop
from core.bundle_head import Stored
from core.errors import BundleRefusedError, RegistryAwayError
from kube.bundle_store import BundleStore, Read
from kube.lease import Leadership
from kube.objects import Objects

_LONGEST_S: Final = 300.0
_LONGEST: Final = 1000
"""Characters of what is wrong, as it is announced."""

_log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Image:
    """How one image in a registry is looked at."""

    named: str
    """As it was set, for people."""
    resolve: Callable[[], Awaitable[str]]
    """Gives the digest of what it is now; raises BundleRefusedError."""
    fetch: Callable[[str], Awaitable[bytes]]
    """Gives the bundle of a digest; raises BundleRefusedError."""
    check: Callable[[bytes, str], Awaitable[Stored]]
    """Says of a bundle what the head says, where a gate would take it; else BundleRefusedError."""


class SourceMetrics:
    """What is shown of the registry."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.looks = Counter(
            "sallyport_bundle_source_looks",
            "Looks at the registry of policy bundles: same, taken, refused, away.",
            ("result",),
            registry=registry,
        )
        self.problem = Gauge(
            "sallyport_bundle_source_problem",
            "Whether what is in the registry of policy bundles is not taken: 1, and the log says "
            "why. Only the leader shows it.",
            registry=registry,
        )
        self.seen = Gauge(
            "sallyport_bundle_source_seen_seconds",
            "Unix time when the registry of policy bundles last answered. Only the leader shows "
            "it.",
            registry=registry,
        )


@dataclass
class Taking:
    """Each run looks at the registry once. `loop` is its loop."""

    objects: Objects
    namespace: str
    image: Image
    interval_s: float
    registry: CollectorRegistry
    wall: Callable[[], float] = time.time
    problem: str = field(default="", init=False)
    """Why what is there is not taken; empty where nothing is wrong."""
    _refused: dict[str, str] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        """Make what it shows."""
        self._store = BundleStore(self.objects, self.namespace)
        self._metrics = SourceMetrics(self.registry)
        self.loop = Loop("bundle-source", self.interval_s, self.run, _LONGEST_S, self._forget)

    async def run(self, leadership: Leadership) -> None:
        """Look once, and take what is new.

        Raises:
            ClusterError: kube-apiserver does not answer, or refuses.
            InvalidObjectError: the head cannot be read, or the bundle is too large.
            NotLeaderError: leadership was lost on the way.
        """
        leadership.require()
        try:
            digest = await self.image.resolve()
            self._metrics.seen.set(self.wall())
            result = await self._take(leadership, digest)
        except RegistryAwayError as error:
            self._note("away", str(error))
        except BundleRefusedError as error:
            self._note("refused", str(error))
        else:
            self._note(result, "")

    async def _take(self, leadership: Leadership, digest: str) -> str:
        """Have what has this digest activated, unless that was done once."""
        before = await self._store.read()
        if before.head.taken == digest:
            return "same"
        if digest in self._refused:
            raise BundleRefusedError(self._refused[digest])
        packed = await self.image.fetch(digest)
        try:
            stored = await self.image.check(packed, f"{self.image.named} ({digest[:19]})")
        except BundleRefusedError as error:
            self._refused = {digest: str(error)}
            raise
        leadership.require()
        await self._want(before, packed, stored, digest)
        return "taken"

    async def _want(self, before: Read, packed: bytes, stored: Stored, digest: str) -> None:
        known = before.head.wanted == stored.revision
        if not known:
            before = await self._store.publish(before, packed, stored)
        await self._store.write(before, msgspec.structs.replace(before.head, taken=digest))
        _log.info(
            "policy bundle taken from the registry",
            image=self.image.named,
            digest=digest,
            bundle=stored.revision,
            wanted_already=known,
        )

    def _note(self, result: str, problem: str) -> None:
        self._metrics.looks.labels(result).inc()
        self._metrics.problem.set(1 if problem else 0)
        if problem and problem != self.problem:
            _log.error(
                "policy bundle not taken from the registry: what is in force stays so",
                image=self.image.named,
                problem=problem,
            )
        elif self.problem and not problem:
            _log.info("the registry of policy bundles is well again", image=self.image.named)
        self.problem = problem[:_LONGEST]

    def _forget(self) -> None:
        self._metrics.problem.set(0)
        self._metrics.seen.set(0)
        self.problem = ""
