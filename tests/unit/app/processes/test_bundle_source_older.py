"""Who writes to the registry and holds no key cannot have `control` go back to an older bundle."""

from collections.abc import AsyncIterator
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from app.processes.control.bundle_source import announce_with_source
from cli.policy.activation.render import print_standing
from cli.policy.activation.run import request_activation, request_rollback
from cli.policy.activation.status import standing_of
from core.policy_bundles import BASE, CONTROL, BundleHead, GateAnnouncement
from kube.bundles.store import with_active
from policies.bundle.format import add_signature
from policies.bundle.signature_keys import SigningKey
from tests.harness.worlds.policy_bundles import retitled, revision_of
from tests.unit.app.processes.bundle_registry import FIRST, KEY, NOW, Scene, scene_in
from tests.unit.kube.config_maps import NAMESPACE

MAY, JUNE, JULY = 1_777_593_600, 1_780_272_000, 1_782_864_000
OLD, BETWEEN, NEW = (
    add_signature(retitled(number, built_at), SigningKey(KEY), "b")
    for number, built_at in ((11, MAY), (12, JUNE), (13, JULY))
)


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[Scene]:
    """The tag named the newest bundle, which was taken."""
    async with scene_in(tmp_path) as made:
        made.served.tag("stable", NEW)
        head = await made.look()
        assert (head.wanted, head.not_before) == (revision_of(NEW), JULY)
        yield made


async def put_in_force(scene: Scene, tmp_path: Path, packed: bytes) -> BundleHead:
    """Have somebody activate a file."""
    file = tmp_path / "activated.tar.gz"
    file.write_bytes(packed)
    return await request_activation(scene.store, scene.settings, str(file), at_once=True)


async def test_an_older_bundle_is_not_taken_and_told(scene: Scene) -> None:
    """Signed as it is: nothing changes, whoever leads later; it is fetched once by each."""
    before = (await scene.store.read()).head
    scene.served.tag("stable", OLD)
    for _ in range(2):
        assert await scene.look() == before
        asked = len(scene.served.asked)
        assert await scene.look() == before
        assert len(scene.served.asked) == asked + 1  # The tag alone.
        assert f"the bundle {revision_of(OLD)} was built at 2026-05-01T00:00:00Z" in (
            scene.taking.problem
        )
        assert (
            "what was taken or activated last was built at 2026-07-01T00:00:00Z"
            in scene.taking.problem
        )
        assert "'sallyport policy rollback'" in scene.taking.problem
        assert scene.metric("sallyport_bundle_source_problem") == 1
        assert scene.metric("sallyport_bundle_source_looks_total", result="refused") == 2
        scene.anew()
    scene.served.tag("stable", NEW)
    await scene.look()
    assert scene.taking.problem == ""


async def test_a_bundle_that_says_no_time_is_not_taken_for_newer(scene: Scene) -> None:
    """Those of before bundles said it are signed too."""
    before = (await scene.store.read()).head
    scene.served.tag("stable", FIRST)
    assert await scene.look() == before
    assert "does not say when it was built" in scene.taking.problem


async def test_where_no_bundle_says_a_time_each_is_taken(tmp_path: Path) -> None:
    """As before bundles said it; from the first that does, it counts."""
    async with scene_in(tmp_path) as scene:
        assert (await scene.look()).not_before == 0
        scene.served.tag("stable", add_signature(retitled(2), SigningKey(KEY), "b"))
        assert (await scene.look()).wanted == revision_of(retitled(2))
        scene.served.tag("stable", BETWEEN)
        assert (await scene.look()).not_before == JUNE


async def test_what_was_built_in_the_same_second_is_taken(scene: Scene) -> None:
    """Such as the same commit, built by another release."""
    again = add_signature(retitled(14, JULY), SigningKey(KEY), "b")
    scene.served.tag("stable", again)
    assert (await scene.look()).wanted == revision_of(again)


async def test_who_names_a_digest_goes_back(scene: Scene, tmp_path: Path) -> None:
    """The settings of `control` are no registry's to write."""
    scene.follow(tmp_path, oci=scene.served.push(OLD))
    head = await scene.look()
    assert (head.wanted, head.not_before) == (revision_of(OLD), MAY)


async def test_who_activates_an_older_one_decides_what_is_older(
    scene: Scene, tmp_path: Path
) -> None:
    """From there on; what was refused before is taken then without a new leader."""
    scene.served.tag("stable", BETWEEN)
    assert (await scene.look()).wanted == revision_of(NEW)
    await put_in_force(scene, tmp_path, OLD)
    head = await scene.look()
    assert (head.wanted, head.not_before) == (revision_of(BETWEEN), JUNE)
    await request_activation(scene.store, scene.settings, revision_of(OLD), at_once=True)
    assert (await scene.store.read()).head.not_before == MAY


async def test_who_rolls_back_is_followed_by_the_tag_alone(scene: Scene) -> None:
    """The tag may name what is wanted; nothing else that is older than what was."""
    read = await scene.store.read()
    await scene.store.write(read, BundleHead(turn=1, wanted=BASE))
    for packed in (OLD, NEW):
        scene.served.tag("stable", packed)
        await scene.look()
        read = await scene.store.read()
        await scene.store.write(read, with_active(read.head, NOW))
    head = await request_rollback(scene.store, at_once=True)
    assert (head.wanted, head.not_before) == (revision_of(OLD), JULY)
    scene.served.tag("stable", BETWEEN)
    assert await scene.look() == head
    scene.served.tag("stable", OLD)
    found = await scene.look()
    assert (found.wanted, found.not_before) == (head.wanted, JULY)
    assert found.taken == scene.served.tags["stable"]
    assert scene.taking.problem == ""


async def test_what_is_in_force_may_be_wanted_again(scene: Scene) -> None:
    """Where the newer one never came in force, since a gate refuses it."""
    read = await scene.store.read()
    await scene.store.write(read, with_active(read.head, NOW))
    later = add_signature(retitled(15, JULY + 60), SigningKey(KEY), "b")
    scene.served.tag("stable", later)
    assert (await scene.look()).wanted == revision_of(later)
    scene.served.tag("stable", BETWEEN)
    assert (await scene.look()).wanted == revision_of(later)
    scene.served.tag("stable", NEW)
    head = await scene.look()
    assert (head.wanted, head.active) == (revision_of(NEW), revision_of(NEW))
    assert head.not_before == JULY + 60


async def test_status_says_when_bundles_were_built(scene: Scene) -> None:
    """And what is no more taken."""
    await scene.store.create_announcements()
    await scene.store.announce(
        CONTROL, announce_with_source(lambda: GateAnnouncement(BASE, ""), scene.taking)()
    )
    found = await standing_of(scene.store, NAMESPACE)
    assert [each.built for each in found.bundles] == ["2026-07-01T00:00:00Z"]
    assert found.not_before == "2026-07-01T00:00:00Z"
    printed = StringIO()
    print_standing(found, Console(file=printed, width=200))
    assert ":stable, but to nothing that was built before 2026-07-01T00:00:00Z" in (
        printed.getvalue()
    )
