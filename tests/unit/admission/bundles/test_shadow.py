"""A candidate rides along: what it would change is counted, and no answer is changed."""

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from structlog.testing import capture_logs

from admission.bundles.shadow import MOST_BYTES, MOST_WAITING, Shadow
from app.settings.root import Settings
from app.wiring import make_engine
from core.base.errors import BundleRefusedError
from policies.bundle.format import Bundle, read_bundle
from policies.engine.interface import Engine
from tests.harness.worlds.recorded_reviews import answer_all, reviews
from tests.harness.worlds.replay_bundles import make_bundles
from tests.harness.worlds.replayed_reviews import Scene, cluster_of, make_scene
from tests.unit.admission.world import pod, request
from tests.unit.webhooks.judge import PrivilegedJudge
from webhooks.bundle_metrics import ShadowCollector

COUNT = 150
SECONDS = 60.0


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    """Reviews, and what both bundles answer to them."""
    return make_scene(tmp_path_factory.mktemp("shadow"), COUNT)


@contextmanager
def riding(
    folder: Path, candidate: Path, base: Path, budget: float = 1.0, wait: Callable[[], object] = int
) -> Iterator[Shadow]:
    """Let a candidate ride along; `wait` is called before it is loaded."""
    evaluation = Settings().evaluation

    def load() -> tuple[Bundle, Engine]:
        wait()
        return read_bundle(candidate), make_engine(candidate, evaluation)

    bundle = read_bundle(base)
    shadow = Shadow(load, cluster_of(folder).profiles, lambda: bundle, budget)
    shadow.start()
    try:
        yield shadow
    finally:
        shadow.stop(10.0)


def until(condition: Callable[[], bool]) -> None:
    """Wait until something holds."""
    end = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def seen(shadow: Shadow) -> int:
    """Return how many reviews have been looked at, or not."""
    counts = shadow.counts
    looked_at = counts.compared + counts.beside + counts.stale + counts.unknown.total()
    return looked_at + counts.dropped


def test_what_it_would_change_is_what_the_gate_would(scene: Scene, tmp_path: Path) -> None:
    """As often as the gate itself, asked with the candidate, ends a review otherwise."""
    asked = list(reviews(COUNT))
    with riding(tmp_path, scene.candidate, scene.base) as shadow:
        cluster = cluster_of(tmp_path)
        answers = asyncio.run(answer_all(cluster, scene.base, asked, shadow=shadow))
        until(lambda: seen(shadow) >= sum(each.validated for each in scene.was))
    counts = shadow.counts
    assert [each.allowed for each in answers] == [each.allowed for each in scene.was]
    assert (counts.dropped, dict(counts.unknown)) == (0, {})
    found = {effect: counts.changes[effect, ""] for effect in scene.anew}
    assert found == scene.anew
    assert counts.changes["newlyRefused", "rules/acme/labels"] > 0


def test_a_rule_is_shown_fields_that_nobody_recorded(scene: Scene, tmp_path: Path) -> None:
    """Unlike replay, the shadow has the object: what the candidate reads of it is there."""
    _, candidate = make_bundles(tmp_path, unread=True)
    asked = list(reviews(COUNT))
    with riding(tmp_path, candidate, scene.base) as shadow:
        cluster = cluster_of(tmp_path)
        asyncio.run(answer_all(cluster, scene.base, asked, shadow=shadow))
        until(lambda: seen(shadow) >= sum(each.validated for each in scene.was))
    assert dict(shadow.counts.unknown) == {}
    assert shadow.counts.changes["newlyRefused", "rules/acme/names"] > 0


async def test_what_does_not_fit_is_dropped_and_counted(scene: Scene, tmp_path: Path) -> None:
    """However much comes while it is busy, it holds a bounded part of it."""
    busy = [True]

    def wait() -> None:
        until(lambda: not busy[0])

    asked = request(pod())
    decision = await PrivilegedJudge().validate(asked, budget=1.0)
    with riding(tmp_path, scene.candidate, scene.base, wait=wait) as shadow:
        for _ in range(MOST_WAITING + 7):
            shadow.offer(asked, decision, 1)
        shadow.offer(asked, decision, MOST_BYTES)
        dropped = shadow.counts.dropped
        busy[0] = False
        until(lambda: seen(shadow) == MOST_WAITING + 8)
    assert dropped == 8


async def test_it_keeps_to_its_budget(scene: Scene, tmp_path: Path) -> None:
    """Time of the processor, not of the clock: a busy machine gives it no more."""
    asked = request(pod())
    decision = await PrivilegedJudge().validate(asked, budget=1.0)
    bundle = read_bundle(scene.base)
    one_review_s = 0.35

    def work() -> Bundle:
        end = time.thread_time() + one_review_s
        while time.thread_time() < end:
            pass
        return bundle

    with riding(tmp_path, scene.candidate, scene.base, budget=0.001) as shadow:
        shadow.in_force = work
        for _ in range(20):
            shadow.offer(asked, decision, 1)
        until(lambda: seen(shadow) > 0)
        # What was saved up pays for one; the next is paid for after 100 s.
        await asyncio.sleep(2.0)
        assert (seen(shadow), shadow.revision) == (1, read_bundle(scene.candidate).revision)


async def test_the_engines_own_threads_are_paid_for(scene: Scene, tmp_path: Path) -> None:
    """What is slow is evaluated there: the clock of the shadow's thread does not see it."""
    asked = request(pod())
    decision = await PrivilegedJudge().validate(asked, budget=1.0)
    bundle = read_bundle(scene.base)

    with riding(tmp_path, scene.candidate, scene.base, budget=0.001) as shadow:

        def slow() -> Bundle:
            shadow.observe(0.5)
            return bundle

        shadow.in_force = slow
        for _ in range(20):
            shadow.offer(asked, decision, 1)
        until(lambda: seen(shadow) > 0)
        await asyncio.sleep(2.0)
        assert seen(shadow) == 1
        assert shadow.counts.cpu_s >= 0.5


def test_a_candidate_that_is_refused_keeps_nothing_from_going_on(
    scene: Scene, tmp_path: Path
) -> None:
    """Nothing is compared, and it is shown why."""
    asked = list(reviews(20))

    def load() -> tuple[Bundle, Engine]:
        raise BundleRefusedError("x.tar.gz: no such bundle")

    cluster = cluster_of(tmp_path)
    shadow = Shadow(load, cluster.profiles, lambda: read_bundle(scene.base), 1.0)
    shadow.start()
    until(lambda: bool(shadow.problem))
    answers = asyncio.run(answer_all(cluster, scene.base, asked, shadow=shadow))
    shadow.stop()
    assert [each.allowed for each in answers] == [each.allowed for each in scene.was[:20]]
    assert shadow.counts.compared == 0
    assert "sallyport_shadow_refused 1.0" in scraped(shadow)


def test_an_unexpected_error_at_load_is_no_loading_for_ever(scene: Scene, tmp_path: Path) -> None:
    """The thread ends, and it is shown."""

    def load() -> tuple[Bundle, Engine]:
        raise RuntimeError("no memory")

    shadow = Shadow(load, cluster_of(tmp_path).profiles, lambda: read_bundle(scene.base), 1.0)
    shadow.start()
    until(lambda: bool(shadow.problem))
    shadow.stop()
    assert shadow.problem == "RuntimeError: no memory"
    assert "sallyport_shadow_refused 1.0" in scraped(shadow)


@pytest.mark.parametrize("error", [RuntimeError("broken"), asyncio.CancelledError()])
async def test_an_unexpected_error_ends_nothing(
    scene: Scene, tmp_path: Path, error: BaseException
) -> None:
    """It is counted each time, logged once, and the next review is compared."""
    asked = request(pod())
    decision = await PrivilegedJudge().validate(asked, budget=1.0)
    bundle, failing = read_bundle(scene.base), [True]

    def fail() -> Bundle:
        if failing[0]:
            raise error
        return bundle

    with riding(tmp_path, scene.candidate, scene.base) as shadow, capture_logs() as logs:
        shadow.in_force = fail
        for _ in range(3):
            shadow.offer(asked, decision, 1)
        until(lambda: shadow.counts.unknown["unexpected"] == 3)
        failing[0] = False
        shadow.offer(asked, decision, 1)
        until(lambda: shadow.counts.against == bundle.revision)
    assert [each["event"] for each in logs].count("shadow failed") == 1
    assert not shadow.problem


def test_counts_begin_anew_with_another_bundle_in_force(scene: Scene, tmp_path: Path) -> None:
    """What was counted beside the one before says nothing of this one."""
    asked = list(reviews(40))
    in_force = [read_bundle(scene.base)]
    with riding(tmp_path, scene.candidate, scene.base) as shadow:
        shadow.in_force = lambda: in_force[0]
        cluster = cluster_of(tmp_path)
        answers = asyncio.run(answer_all(cluster, scene.base, asked, shadow=shadow))
        until(lambda: seen(shadow) >= sum(each.validated for each in answers))
        assert shadow.counts.changes["newlyRefused", ""] > 0
        in_force[0] = read_bundle(scene.candidate)
        late = asyncio.run(answer_all(cluster, scene.base, asked[:5], shadow=shadow))
        until(lambda: shadow.counts.stale == sum(each.validated for each in late))
        answers = asyncio.run(answer_all(cluster, scene.candidate, asked, shadow=shadow))
        until(lambda: seen(shadow) >= sum(each.validated for each in (*late, *answers)))
    counts = shadow.counts
    assert counts.against == read_bundle(scene.candidate).revision
    assert counts.compared + counts.beside == sum(each.validated for each in answers)
    assert dict(counts.changes) == {}


def test_prometheus_sees_what_it_would_change(scene: Scene, tmp_path: Path) -> None:
    """By effect and by rule."""
    with riding(tmp_path, scene.candidate, scene.base) as shadow:
        asked = list(reviews(40))
        answers = asyncio.run(answer_all(cluster_of(tmp_path), scene.base, asked, shadow=shadow))
        until(lambda: seen(shadow) >= sum(each.validated for each in answers))
    text = scraped(shadow)
    refused = shadow.counts.changes["newlyRefused", ""]
    assert f'sallyport_shadow_changes_total{{effect="newlyRefused",rule=""}} {refused}.0' in text
    in_force = read_bundle(scene.base).revision
    both = f'in_force="{in_force}",revision="{shadow.revision}"'
    assert f"sallyport_shadow_info{{{both}}} 1.0" in text


def scraped(shadow: Shadow) -> str:
    """Return what Prometheus would read."""
    registry = CollectorRegistry()
    registry.register(ShadowCollector(shadow))
    return generate_latest(registry).decode()
