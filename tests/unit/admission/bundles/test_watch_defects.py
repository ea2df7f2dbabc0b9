"""What fails while bundles are loaded ends nothing, and nothing ends unseen."""

import asyncio
from pathlib import Path

import pytest

from admission.bundles import watch
from admission.bundles.active import BundleLoader, ReadBundle
from admission.bundles.watch import BundleWatch
from core.base.errors import EngineAwayError
from core.base.safe_text import LONGEST_PROBLEM
from core.cluster import Cluster
from core.policy_bundles import BASE, PublishedBundle
from policies import BUILT_IN_BUNDLE
from policies.bundle.format import Bundle, read_bundle
from policies.engine.cache import RememberingEngine
from tests.harness.worlds.policy_bundles import revision_of
from tests.unit.admission.bundles import published_bundles
from tests.unit.admission.bundles.published_bundles import (
    FIRST,
    SECOND,
    Place,
    first_of,
    follow,
    in_force,
    replace,
    until,
)
from tests.unit.admission.world import Folder


@pytest.fixture
def cluster(folder: Folder) -> Cluster:
    """A cluster with one namespace."""
    return folder.namespace("train").cluster()


def failing_once(error: Exception, revision: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Have loading a revision fail once; give what fails, until it did."""
    left, right = [revision], published_bundles.make

    def failing(of: Bundle) -> RememberingEngine:
        if of.revision in left:
            left.remove(of.revision)
            raise error
        return right(of)

    monkeypatch.setattr(published_bundles, "make", failing)
    return left


async def test_a_defect_in_loading_is_a_refusal_and_ends_nothing(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is announced; what comes later is followed."""
    place = Place(None)
    broken, good = revision_of(FIRST), revision_of(SECOND)
    failing_once(RuntimeError("can't start new thread"), broken, monkeypatch)
    async with follow(cluster, place) as found:
        place.set(broken, BASE, FIRST)
        await until(lambda: place.announced and broken in place.announced[-1].refused)
        said = place.announced[-1].refused[broken]
        assert "loading it failed (RuntimeError: can't start new thread)" in said
        place.set(good, good, SECOND, turn=2)
        await until(lambda: found.bundles.name == good)


async def test_an_engine_that_is_away_is_no_refusal(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is said, and tried again in the same turn."""
    monkeypatch.setattr(watch, "RETRY_S", 0.02)
    place = Place(None)
    wanted = revision_of(FIRST)
    failing_once(EngineAwayError("no OPA server there"), wanted, monkeypatch)
    async with follow(cluster, place) as found:
        place.set(wanted, BASE, FIRST)
        await until(lambda: wanted in found.bundles.loaded)
        assert found.bundles.counts.refused == 0
        await until(lambda: wanted in place.announced[-1].loaded)
    problems = [each.problem for each in place.announced if each.problem]
    assert problems == ["no OPA server there"]
    assert not place.announced[-1].problem


async def test_a_file_that_could_not_be_tried_is_tried_again(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though it does not change any more."""
    file = tmp_path / "b.tar.gz"
    file.write_bytes(FIRST)
    left = failing_once(EngineAwayError("away"), revision_of(SECOND), monkeypatch)
    async with follow(cluster, file=file) as found:
        replace(file, SECOND)
        await until(lambda: not left)
        await until(lambda: found.bundles.counts.swapped)
        assert await in_force(found) == revision_of(SECOND)
        assert found.bundles.counts.refused == 0


def breaking(place: Place, monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """Have what is fetched end the following by a defect, until the event is set."""
    monkeypatch.setattr(watch, "PAUSE_S", 0.02)
    healed, right = asyncio.Event(), place.fetch

    async def broken(stored: PublishedBundle) -> bytes:
        if healed.is_set():
            return await right(stored)
        raise LookupError("a defect")

    place.fetch = broken  # type: ignore[method-assign, assignment]
    return healed


async def test_one_who_does_not_follow_is_not_ready_and_begins_again_by_itself(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a gate would judge by an old bundle for ever, and nobody would know."""
    place = Place(None)
    healed = breaking(place, monkeypatch)
    wanted = revision_of(FIRST)
    async with follow(cluster, place) as found:
        place.set(BASE, BASE)
        await until(lambda: place.announced)
        assert found.missing() == []
        place.set(wanted, BASE, FIRST, turn=2)
        await until(lambda: found.bundles.counts.restarts >= 2)
        said = "policy bundles are not followed (LookupError: a defect): report this defect"
        assert found.missing()[0].startswith(said)
        assert found.ended() == found.missing()
        assert found.bundles.in_force.missing() == found.missing()
        healed.set()
        await until(lambda: wanted in found.bundles.loaded)
        await until(lambda: not found.missing())
        assert found.bundles.in_force.missing() == []
        place.set(wanted, wanted, turn=2)
        await until(lambda: found.bundles.name == wanted)


async def test_what_ended_before_anything_was_active_is_not_ready_until_it_is(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To begin again is not to be ready: the active bundle must be in force."""
    place = Place(None)
    healed = breaking(place, monkeypatch)
    active = revision_of(FIRST)
    async with follow(cluster, place) as found:
        place.set(active, active, FIRST)
        await until(lambda: found.bundles.counts.restarts)
        assert found.bundles.in_force.missing()
        place.failing = True
        healed.set()
        await until(lambda: "GET: no answer" in str(found.bundles.in_force.missing()))
        assert found.ended() == []
        place.failing = False
        await until(lambda: not found.bundles.in_force.missing())
        assert await in_force(found) == active


async def test_a_file_is_followed_again_after_a_defect(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it held when the defect came is not forgotten."""
    monkeypatch.setattr(watch, "PAUSE_S", 0.02)
    file = tmp_path / "b.tar.gz"
    file.write_bytes(FIRST)
    load, failing = BundleLoader.load, [True]

    async def broken(bundles: BundleLoader, name: str, read: ReadBundle) -> bool:
        if failing:
            raise LookupError("a defect")
        return await load(bundles, name, read)

    monkeypatch.setattr(BundleLoader, "load", broken)
    async with follow(cluster, file=file) as found:
        replace(file, SECOND)
        await until(lambda: found.bundles.counts.restarts >= 2)
        assert found.missing()
        failing.clear()
        await until(lambda: found.bundles.counts.swapped)
        assert await in_force(found) == revision_of(SECOND)
        await until(lambda: not found.missing())


async def test_a_defect_that_comes_again_is_tried_more_and_more_seldom(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Up to a longest pause."""
    monkeypatch.setattr(watch, "PAUSE_S", 0.5)
    monkeypatch.setattr(watch, "LONGEST_PAUSE_S", 3.0)
    pauses: list[float] = []

    async def pause(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 5:
            raise asyncio.CancelledError

    built_in = read_bundle(BUILT_IN_BUNDLE)
    found = BundleWatch(
        BundleLoader(first_of(cluster, built_in), published_bundles.make, built_in), built_in
    )
    found.follow_published(Place(None))

    async def broken() -> None:
        raise LookupError("a defect")

    monkeypatch.setattr(found, "_run", broken)
    monkeypatch.setattr(asyncio, "sleep", pause)
    with pytest.raises(asyncio.CancelledError):
        await found.run()
    assert pauses == [0.5, 1.0, 2.0, 3.0, 3.0]


async def test_why_a_bundle_is_refused_is_kept_short(cluster: Cluster) -> None:
    """However much of the bundle's own text it holds: it goes to the log, and to /readyz."""
    async with follow(cluster, None) as found:
        found.bundles.refuse("x", "a" * 3_000_000)
        assert found.bundles.refused["x"] == "a" * LONGEST_PROBLEM
