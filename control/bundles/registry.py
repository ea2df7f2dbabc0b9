"""Takes new policy bundles from an OCI registry: checks, publishes and requests each.

Gates never ask a registry. What cannot be had, or is refused, changes nothing: what is in force
stays so, and the reason is shown.
"""

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final

import msgspec
import structlog
from prometheus_client import CollectorRegistry, Counter, Gauge

from control.loop import Loop
from core.base.errors import (
    BundleNotGivenError,
    BundleRefusedError,
    ClusterError,
    EngineAwayError,
    InvalidObjectError,
    RegistryAwayError,
    SettingsError,
)
from core.base.safe_text import LONGEST_PROBLEM
from core.base.times import time_text
from core.policy_bundles import BundleHead, PublishedBundle
from kube.bundles.store import BundleStore, PublishedHead
from kube.bundles.watch import split_bundle
from kube.client.objects import Objects
from kube.leader.lease import Leadership

_LONGEST_S: Final = 300.0

_HINDERED: Final = (ClusterError, EngineAwayError, InvalidObjectError, SettingsError)
"""What says nothing of the bundle, as a registry that is away: the loop tries again."""

_log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Image:
    """How one image in a registry is looked at."""

    named: str
    """As it was set, for people."""
    pinned: bool
    """It is named by its digest, so that nobody is asked what it is now."""
    resolve: Callable[[], Awaitable[str]]
    """Gives the digest of what it is now; raises BundleNotGivenError and RegistryAwayError."""
    fetch: Callable[[str], Awaitable[bytes]]
    """Gives the bundle of a digest; raises the same, and BundleRefusedError where it is none."""
    check: Callable[[bytes, str], Awaitable[PublishedBundle]]
    """Says of a bundle what the head says, where a gate would take it; else BundleRefusedError."""


class SourceMetrics:
    """What is shown of the registry."""

    def __init__(self, metrics: CollectorRegistry) -> None:
        self.looks = Counter(
            "sallyport_bundle_source_looks",
            "Looks at the registry of policy bundles: same, taken, refused; away, where it, the "
            "cluster or a file of the settings is.",
            ("result",),
            registry=metrics,
        )
        self.problem = Gauge(
            "sallyport_bundle_source_problem",
            "Whether what is in the registry of policy bundles is not taken: 1, and the log says "
            "why. Only the leader shows it.",
            registry=metrics,
        )
        self.seen = Gauge(
            "sallyport_bundle_source_seen_seconds",
            "Unix time when the registry of policy bundles last gave what it was asked for; one "
            "that is named by its digest is asked once. Only the leader shows it.",
            registry=metrics,
        )


@dataclass
class RegistryImport:
    """Each run looks at the registry once. `loop` is its loop."""

    objects: Objects
    namespace: str
    image: Image
    interval_s: float
    metrics: CollectorRegistry
    wall: Callable[[], float] = time.time
    """Unix seconds."""
    problem: str = field(default="", init=False)
    """Why what is there is not taken; empty where nothing is wrong."""
    _refused: dict[str, str] = field(default_factory=dict, init=False)
    _old: dict[str, PublishedBundle] = field(default_factory=dict, init=False)
    """What was refused as older, which is not for ever: by the image's digest."""

    def __post_init__(self) -> None:
        """Make what it shows."""
        self._store = BundleStore(self.objects, self.namespace)
        self._shown = SourceMetrics(self.metrics)
        self.loop = Loop("bundle-source", self.interval_s, self.run, _LONGEST_S, self._forget)

    async def run(self, leadership: Leadership) -> None:
        """Look once, and take what is new.

        Raises:
            ClusterError: kube-apiserver does not answer, or refuses.
            EngineAwayError: what evaluates policies is not there.
            InvalidObjectError: the head cannot be read.
            NotLeaderError: leadership was lost on the way.
            SettingsError: the password, the CA or a key cannot be read.
        """
        leadership.require()
        try:
            result = await self._take(leadership, await self._resolve())
        except RegistryAwayError as error:
            self._note("away", str(error))
        except BundleRefusedError as error:
            self._note("refused", str(error))
        except _HINDERED as error:
            self._note("away", str(error))
            raise
        else:
            self._note(result, "")

    async def _resolve(self) -> str:
        digest = await self.image.resolve()
        if not self.image.pinned:
            self._shown.seen.set(self.wall())
        return digest

    async def _take(self, leadership: Leadership, digest: str) -> str:
        """Have what has this digest activated, unless that was done once."""
        before = await self._store.read()
        if before.head.taken == digest:
            return "same"
        if digest in self._refused:
            raise BundleRefusedError(self._refused[digest])
        if digest in self._old:
            self._refuse_older(before.head, self._old[digest], digest)
        try:
            packed = await self.image.fetch(digest)
            self._shown.seen.set(self.wall())
            stored = await self._checked(packed, f"{self.image.named} ({digest[:19]})")
        except BundleNotGivenError:
            raise  # It says nothing of the image.
        except BundleRefusedError as error:
            self._refused = {digest: str(error)}
            raise
        self._refuse_older(before.head, stored, digest)
        leadership.require()
        await self._want(before, packed, stored, digest)
        return "taken"

    def _refuse_older(self, head: BundleHead, stored: PublishedBundle, digest: str) -> None:
        """Refuse what was built before what was taken or activated last.

        Else who may write to the registry, and holds no key, could go back to a weaker rule. What
        is wanted or active already, or named by its digest, is nobody else's choice.
        """
        there = _is(head.wanted, head, stored) or _is(head.active, head, stored)
        if self.image.pinned or there or stored.built >= head.not_before:
            return
        self._old = {digest: stored}
        built = (
            f"was built at {time_text(stored.built)}"
            if stored.built
            else "does not say when it was built"
        )
        raise BundleRefusedError(
            f"{self.image.named} ({digest[:19]}): the bundle {stored.revision} {built}, and what "
            f"was taken or activated last was built at {time_text(head.not_before)}: control does "
            "not go back by itself. If that is meant, say 'sallyport policy rollback' or "
            "'sallyport policy activate FILE', or name the image by its digest"
        )

    async def _checked(self, packed: bytes, path: str) -> PublishedBundle:
        """Check what is small enough to be published."""
        try:
            split_bundle(packed)
        except InvalidObjectError as error:
            raise BundleRefusedError(f"{path}: {error}") from None
        return await self.image.check(packed, path)

    async def _want(
        self, before: PublishedHead, packed: bytes, stored: PublishedBundle, digest: str
    ) -> None:
        known = _is(before.head.wanted, before.head, stored)
        if not known:
            before = await self._store.publish(before, packed, stored)
        latest = max(before.head.not_before, stored.built)
        not_before = (stored.built or latest) if self.image.pinned else latest
        head = msgspec.structs.replace(before.head, taken=digest, not_before=not_before)
        await self._store.write(before, head)
        _log.info(
            "policy bundle taken from the registry",
            image=self.image.named,
            digest=digest,
            bundle=stored.revision,
            wanted_already=known,
        )

    def _note(self, result: str, problem: str) -> None:
        problem = problem[:LONGEST_PROBLEM]
        self._shown.looks.labels(result).inc()
        self._shown.problem.set(1 if problem else 0)
        if problem and problem != self.problem:
            _log.error(
                "policy bundle not taken from the registry: what is in force stays so",
                image=self.image.named,
                problem=problem,
            )
        elif self.problem and not problem:
            _log.info("the registry of policy bundles is well again", image=self.image.named)
        self.problem = problem

    def _forget(self) -> None:
        self._shown.problem.set(0)
        self._shown.seen.set(0)
        self.problem = ""


def _is(revision: str, head: BundleHead, stored: PublishedBundle) -> bool:
    """Return whether it is what is published under this revision.

    A bundle has the same revision whoever signed it: the file is what counts.
    """
    published = head.of(revision)
    return published is not None and published.digest == stored.digest
