"""What a process follows: its file, and what is published; what is refused changes nothing."""

import asyncio
import hashlib
import threading
from pathlib import Path

import pytest

from admission.bundles import watch
from core.cluster import Cluster
from core.policy_bundles import BASE, BundleHead, PublishedBundle
from policies import BUILT_IN_BUNDLE
from policies.bundle.format import (
    FORMAT,
    Bundle,
    Manifest,
    parse_bundle,
    read_bundle,
    with_manifest,
)
from policies.engine.cache import RememberingEngine
from tests.harness.worlds.policy_bundles import revision_of, stored
from tests.unit.admission.bundles import published_bundles
from tests.unit.admission.bundles.published_bundles import (
    FIRST,
    SECOND,
    THIRD,
    Place,
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


async def test_a_new_file_is_put_in_force(cluster: Cluster, tmp_path: Path) -> None:
    """Without a restart; the same file written anew changes nothing."""
    file = tmp_path / "b.tar.gz"
    file.write_bytes(FIRST)
    async with follow(cluster, file=file) as found:
        assert await in_force(found) == revision_of(FIRST)
        replace(file, SECOND)
        await until(lambda: found.bundles.counts.swapped)
        assert await in_force(found) == revision_of(SECOND)
        replace(file, SECOND)
        await asyncio.sleep(0.1)
        assert found.bundles.counts.swapped == 1


@pytest.mark.parametrize("content", [b"no bundle", FIRST[:5000], b""], ids=["text", "cut", "empty"])
async def test_a_broken_file_leaves_what_is_in_force(
    cluster: Cluster, tmp_path: Path, content: bytes
) -> None:
    """It is said, and nothing is missing; a good one heals it."""
    file = tmp_path / "b.tar.gz"
    file.write_bytes(FIRST)
    async with follow(cluster, file=file) as found:
        replace(file, content)
        await until(lambda: BASE in found.bundles.refused)
        assert await in_force(found) == revision_of(FIRST)
        assert found.missing() == []
        assert found.announcement().refused[BASE].startswith(f"{file}: ")
        replace(file, FIRST)
        await until(lambda: not found.bundles.refused)
        replace(file, THIRD)
        await until(lambda: found.bundles.counts.swapped)
        assert await in_force(found) == revision_of(THIRD)


async def test_a_file_that_goes_leaves_what_is_in_force(cluster: Cluster, tmp_path: Path) -> None:
    """A mounted ConfigMap may be taken away."""
    file = tmp_path / "b.tar.gz"
    file.write_bytes(FIRST)
    async with follow(cluster, file=file) as found:
        file.unlink()
        await until(lambda: "no such bundle" in found.bundles.refused.get(BASE, ""))
        assert await in_force(found) == revision_of(FIRST)


async def test_nothing_is_judged_before_the_head_is_known(cluster: Cluster) -> None:
    """Else a gate that starts would judge by its own bundle what another must judge."""
    place = Place(None)
    async with follow(cluster, place) as found:
        assert found.bundles.in_force.missing() == [
            "which bundle is active is not known: no answer yet"
        ]
        place.set(BASE, BASE)
        await until(lambda: not found.bundles.in_force.missing())


async def test_the_active_bundle_is_in_force_before_anything_is_judged(cluster: Cluster) -> None:
    """And while it cannot be read, that is what is missing."""
    place = Place(None)
    place.failing = True
    async with follow(cluster, place) as found:
        active = revision_of(FIRST)
        place.set(active, active, FIRST)
        await until(lambda: "GET: no answer" in str(found.bundles.in_force.missing()))
        place.failing = False
        await until(lambda: not found.bundles.in_force.missing())
        assert await in_force(found) == active


async def test_a_gate_that_starts_and_refuses_what_is_active_is_not_ready(cluster: Cluster) -> None:
    """Its own bundle might lack what the site denies."""
    place = Place(None)
    async with follow(cluster, place) as found:
        place.set("0123456789ab", "0123456789ab")
        await until(lambda: "no such bundle is published" in str(found.missing()))


async def test_what_is_wanted_is_loaded_and_what_is_active_in_force(cluster: Cluster) -> None:
    """In this order, so that all gates can switch at once; each step is announced."""
    place = Place(None)
    wanted = revision_of(FIRST)
    async with follow(cluster, place) as found:
        place.set(wanted, BASE, FIRST)
        await until(lambda: wanted in found.bundles.loaded)
        assert await in_force(found) != wanted
        await until(lambda: place.announced)
        assert place.announced[-1].loaded == (wanted, BASE) or set(place.announced[-1].loaded) == {
            wanted,
            BASE,
        }
        place.set(wanted, wanted)
        await until(lambda: found.bundles.name == wanted)
        assert await in_force(found) == wanted
        await until(lambda: place.announced[-1].in_force == wanted)
        place.set(BASE, wanted, turn=2)
        await until(lambda: BASE in found.bundles.loaded)
        place.set(BASE, BASE, turn=2)
        await until(lambda: found.bundles.name == BASE)
        assert await in_force(found) == read_bundle(BUILT_IN_BUNDLE).revision
    assert place.left


async def test_what_is_refused_is_announced_and_tried_again_when_it_is_wanted_again(
    cluster: Cluster,
) -> None:
    """Not sooner: a broken bundle is broken still."""
    place = Place(None)
    async with follow(cluster, place) as found:
        broken = stored(FIRST)
        place.set(broken.revision, BASE, FIRST)
        place.files[broken.revision] = SECOND
        await until(lambda: found.bundles.refused)
        why = found.bundles.refused[broken.revision]
        assert f"its revision is {revision_of(SECOND)}" in why
        await until(lambda: place.announced and place.announced[-1].refused)
        assert found.missing() == []
        place.files[broken.revision] = FIRST
        place.wake()
        await asyncio.sleep(0.1)
        assert found.bundles.counts.refused == 1
        place.set(broken.revision, BASE, turn=2)
        await until(lambda: broken.revision in found.bundles.loaded)
        assert found.bundles.refused == {}


async def test_a_bundle_of_a_later_release_is_refused_and_what_is_in_force_stays(
    cluster: Cluster,
) -> None:
    """As after a rollback of the release; a gate that starts then says so, and is not ready."""
    rules = list(read_bundle(BUILT_IN_BUNDLE).rules.values())
    packed = with_manifest(BUILT_IN_BUNDLE.read_bytes(), Manifest(FORMAT + 1, rules), {})
    newer = PublishedBundle("0123456789ab", hashlib.sha256(packed).hexdigest(), 0, 1)
    said = f"format {FORMAT + 1}; this release reads {FORMAT - 1} and {FORMAT}"
    own = read_bundle(BUILT_IN_BUNDLE).revision
    place = Place(None)
    place.files[newer.revision] = packed
    async with follow(cluster, place) as found:
        for turn, active in enumerate((BASE, newer.revision)):  # Wanted, then active by `--now`.
            place.head = BundleHead(
                turn=turn, wanted=newer.revision, active=active, bundles=(newer,)
            )
            place.wake()
            await until(lambda: place.announced and place.announced[-1].turn == turn)  # noqa: B023
            assert said in place.announced[-1].refused[newer.revision]
            assert found.missing() == []
            assert await in_force(found) == own
    async with follow(cluster, place) as found:
        await until(lambda: said in str(found.bundles.in_force.missing()))
        assert place.announced[-1].in_force == BASE


async def test_what_is_not_wanted_any_more_is_let_go(cluster: Cluster) -> None:
    """A gate holds two engines at most."""
    place = Place(None)
    first, second = revision_of(FIRST), revision_of(SECOND)
    async with follow(cluster, place) as found:
        place.set(first, BASE, FIRST)
        await until(lambda: first in found.bundles.loaded)
        place.set(second, BASE, SECOND, turn=2)
        await until(lambda: second in found.bundles.loaded)
        assert set(found.bundles.loaded) == {second, BASE}


async def test_a_file_does_not_take_the_place_of_what_is_active(
    cluster: Cluster, tmp_path: Path
) -> None:
    """It is what `base` is from then on."""
    file = tmp_path / "b.tar.gz"
    file.write_bytes(FIRST)
    place = Place(None)
    active = revision_of(THIRD)
    async with follow(cluster, place, file) as found:
        place.set(active, active, THIRD)
        await until(lambda: found.bundles.name == active)
        replace(file, SECOND)
        await until(lambda: found.base.revision == revision_of(SECOND))
        assert await in_force(found) == active
        place.set(BASE, BASE, turn=2)
        await until(lambda: found.bundles.name == BASE)
        assert await in_force(found) == revision_of(SECOND)


async def test_a_file_that_changes_while_the_one_before_is_tried_out_is_put_in_force(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file's own bundle becomes active just then: the newer one is what must be in force."""
    file = tmp_path / "b.tar.gz"
    file.write_bytes(FIRST)
    place = Place(None)
    active = revision_of(THIRD)
    async with follow(cluster, place, file) as found:
        place.set(active, active, THIRD)
        await until(lambda: found.bundles.name == active)
        trying, go_on = threading.Event(), threading.Event()
        right = published_bundles.make

        def waiting(of: Bundle) -> RememberingEngine:
            trying.set()
            assert go_on.wait(published_bundles.SOON_S)
            return right(of)

        monkeypatch.setattr(published_bundles, "make", waiting)
        place.set(BASE, BASE, turn=2)
        await until(trying.is_set)
        replace(file, SECOND)
        seen = found.file
        assert seen is not None
        await until(lambda: seen._digest == parse_bundle(SECOND, "b").digest)  # noqa: SLF001 -- nobody else can see that it was read
        await asyncio.sleep(0.1)  # What was read is at hand, and waits or not.
        go_on.set()
        await until(lambda: found.bundles.in_force.engine.revision == revision_of(SECOND))
        assert await in_force(found) == revision_of(SECOND)
        assert found.bundles.name == BASE


async def test_a_gate_says_again_and_again_that_it_is_there(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a beat that grows."""
    monkeypatch.setattr(watch, "BEAT_S", 0.02)
    place = Place(None)
    async with follow(cluster, place):
        place.set(BASE, BASE)
        await until(lambda: len(place.announced) > 3)
    beats = [each.beat for each in place.announced]
    assert beats == sorted(set(beats))
