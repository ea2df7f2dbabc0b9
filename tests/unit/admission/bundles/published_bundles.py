"""What a process follows, in memory: a published head, files of bundles, and who follows them."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from admission.bundles.active import ActiveJudge, BundleLoader
from admission.bundles.watch import BundleWatch
from core.base.background import in_background
from core.base.errors import ClusterError
from core.cluster import Cluster
from core.policy_bundles import BundleHead, GateAnnouncement, PublishedBundle
from policies import BUILT_IN_BUNDLE
from policies.bundle.file_source import FileSource
from policies.bundle.format import Bundle, read_bundle
from policies.engine.cache import RememberingEngine
from tests.harness.worlds.policy_bundles import retitled, revision_of, stored
from tests.unit.admission.bundles.slow_engine import Answering
from tests.unit.admission.world import judge_of, pod, request

SOON_S = 20.0
"""The longest that anything may take on a busy machine; nothing waits so long but to fail."""


FIRST, SECOND, THIRD = map(retitled, range(3))


class Place:
    """What is published, in memory."""

    def __init__(self, head: BundleHead | None, **files: bytes) -> None:
        self.head = head
        self.problem = "no answer yet"
        self.files = {revision_of(packed): packed for packed in files.values()}
        self.announced: list[GateAnnouncement] = []
        self.left = False
        self.failing = False
        self.wake: Callable[[], None] = lambda: None

    def set(self, wanted: str, active: str, *packed: bytes, turn: int = 1) -> None:
        """Publish bundles and change the head."""
        self.files |= {revision_of(each): each for each in packed}
        bundles = tuple(stored(each) for each in self.files.values())
        self.head = BundleHead(turn=turn, wanted=wanted, active=active, bundles=bundles)
        self.wake()

    async def run(self) -> None:
        """Say what there is, and wait."""
        self.wake()
        await asyncio.Event().wait()

    async def fetch(self, wanted: PublishedBundle) -> bytes:
        """Return a bundle, unless the cluster does not answer."""
        if self.failing:
            raise ClusterError("GET: no answer")
        return self.files[wanted.revision]

    async def announce(self, name: str, announcement: GateAnnouncement) -> None:
        """Keep what was said."""
        assert name == "gate-0"
        self.announced.append(announcement)

    async def leave(self, name: str) -> None:
        """Note that it was taken back."""
        self.left = name == "gate-0"


def make(of: Bundle) -> RememberingEngine:
    """Return an engine that speaks of its revision."""
    rules = {**Answering("").rules, **of.rules}
    return RememberingEngine(Answering(of.revision, rules))


def _make(of: Bundle) -> RememberingEngine:
    return make(of)  # As it is then: a test may replace it.


def first_of(cluster: Cluster, base: Bundle) -> ActiveJudge:
    """Return what is in force at the beginning."""
    return ActiveJudge(make(base), lambda engine: judge_of(cluster, engine))


@asynccontextmanager
async def follow(
    cluster: Cluster, place: Place | None = None, file: Path | None = None
) -> AsyncIterator[BundleWatch]:
    """Follow until the end, from the built-in bundle, or a file's."""
    source = FileSource(file) if file else None
    base = source.read() if source else read_bundle(BUILT_IN_BUNDLE)
    bundles = BundleLoader(first_of(cluster, base), _make, read_bundle(BUILT_IN_BUNDLE))
    found = BundleWatch(bundles, base, source, name="gate-0", poll_s=0.02)
    if place is not None:
        place.wake = found.wake
        found.follow_published(place)
    async with in_background(found.run()):
        yield found
        await bundles.close()


async def until(condition: Callable[[], object]) -> None:
    """Wait for what must come."""
    async with asyncio.timeout(SOON_S):
        while not condition():  # noqa: ASYNC110 -- many parts change what it asks of
            await asyncio.sleep(0.01)


async def in_force(found: BundleWatch) -> str:
    """Return the revision that a review is judged by."""
    decision = await found.bundles.in_force.validate(request(pod()), budget=10)
    return decision.policy_revision


def replace(file: Path, content: bytes) -> None:
    """Put another file in one's place, in one step."""
    new = file.with_suffix(".new")
    new.write_bytes(content)
    new.replace(file)
