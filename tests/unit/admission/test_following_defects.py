"""What fails while bundles are loaded ends nothing, and nothing ends unseen."""

from pathlib import Path

import pytest

from admission import following
from core.bundle_head import BASE, Stored
from core.cluster import Cluster
from core.errors import EngineAwayError
from policies.bundle import Bundle
from policies.engine.remembered import RememberingEngine
from tests.harness.bundles import revision_of
from tests.unit.admission import followed
from tests.unit.admission.followed import (
    FIRST,
    SECOND,
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


def failing_once(error: Exception, revision: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Have loading a revision fail once; give what fails, until it did."""
    left, right = [revision], followed.make

    def failing(of: Bundle) -> RememberingEngine:
        if of.revision in left:
            left.remove(of.revision)
            raise error
        return right(of)

    monkeypatch.setattr(followed, "make", failing)
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
    monkeypatch.setattr(following, "RETRY_S", 0.02)
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


async def test_one_who_follows_no_more_is_not_ready(cluster: Cluster) -> None:
    """Else a gate would judge by an old bundle for ever, and nobody would know."""
    place = Place(None)

    async def broken(_: Stored) -> bytes:
        raise LookupError("a defect")

    place.fetch = broken  # type: ignore[method-assign, assignment]
    async with follow(cluster, place) as found:
        place.set(BASE, BASE)
        await until(lambda: place.announced)
        assert found.missing() == []
        place.set(revision_of(FIRST), BASE, FIRST, turn=2)
        await until(found.missing)
        said = "policy bundles are followed no more (LookupError: a defect): restart this process"
        assert found.missing()[0].startswith(said)
        assert found.bundles.in_force.missing() == found.missing()
