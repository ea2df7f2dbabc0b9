"""`control` takes bundles from a registry: what is new is wanted, what is bad changes nothing."""

import asyncio
import base64
import math
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ed25519
from prometheus_client import CollectorRegistry
from structlog.testing import capture_logs

from app.processes.control.bundle_source import announce_with_source, make_bundle_source
from cli.policy.activation.status import standing_of
from core.base.errors import ClusterError, SettingsError
from core.policy_bundles import (
    BASE,
    CONTROL,
    PART_KEY,
    BundleHead,
    GateAnnouncement,
    PublishedBundle,
)
from kube.bundles.store import with_wanted
from kube.leader.lease import Leadership
from policies.bundle.format import add_signature
from policies.bundle.signature_keys import SigningKey
from tests.harness.fakes.oci_registry import PASSWORD, USER
from tests.harness.worlds.policy_bundles import retitled, revision_of
from tests.unit.app.processes.bundle_registry import (
    FIRST,
    LEADER,
    NOW,
    SECOND,
    Scene,
    scene_in,
    settings,
    write_public,
)
from tests.unit.kube.config_maps import NAMESPACE, PATH, Cluster


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[Scene]:
    """The first bundle lies in the registry under a tag; nothing is published."""
    async with scene_in(tmp_path) as made:
        yield made


async def test_what_is_new_is_published_and_wanted(scene: Scene) -> None:
    """As if somebody had activated it, once; its source is the image."""
    head = await scene.look()
    assert (head.wanted, head.active) == (revision_of(FIRST), BASE)
    assert head.taken == scene.served.tags["stable"]
    (stored,) = head.bundles
    assert stored.source.startswith(f"127.0.0.1:{scene.served.port}/policies/site:stable (sha256:")
    asked = len(scene.served.asked)
    assert await scene.look() == head
    assert len(scene.served.asked) == asked + 1  # The tag alone.
    scene.served.tag("stable", SECOND)
    assert (await scene.look()).wanted == revision_of(SECOND)
    assert scene.metric("sallyport_bundle_source_looks_total", result="taken") == 2
    assert scene.metric("sallyport_bundle_source_looks_total", result="same") == 1
    assert scene.metric("sallyport_bundle_source_seen_seconds") == NOW


async def test_what_is_pinned_is_seen_when_it_is_fetched(scene: Scene, tmp_path: Path) -> None:
    """Nobody is asked later what a digest is: so nobody has answered."""
    scene.follow(tmp_path, oci=scene.served.push(FIRST))
    await scene.look()
    scene.served.failing, scene.now = 503, NOW + 600
    await scene.look()
    assert scene.metric("sallyport_bundle_source_looks_total", result="same") == 1
    assert scene.metric("sallyport_bundle_source_seen_seconds") == NOW


async def test_who_goes_back_is_not_overruled(scene: Scene) -> None:
    """By the same image, whoever leads; a new one is taken."""
    before = await scene.look()
    read = await scene.store.read()
    await scene.store.write(read, with_wanted(before, BASE))
    scene.anew()
    assert (await scene.look()).wanted == BASE
    scene.served.tag("stable", SECOND)
    assert (await scene.look()).wanted == revision_of(SECOND)


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (retitled(3), "is not signed"),
        (
            add_signature(retitled(3), SigningKey(ed25519.Ed25519PrivateKey.generate()), "b"),
            "none of",
        ),
        (b"no bundle", "cannot be read as a bundle"),
    ],
    ids=["unsigned", "another key", "junk"],
)
async def test_a_bad_bundle_changes_nothing_and_is_told(scene: Scene, bad: bytes, why: str) -> None:
    """In `policy status`, in a metric and in the log; it is not fetched again."""
    good = await scene.look()
    scene.served.tag("stable", bad)
    with capture_logs() as logs:
        assert await scene.look() == good
        asked = len(scene.served.asked)
        await scene.look()
    (line,) = logs
    assert (line["log_level"], line["problem"]) == ("error", scene.taking.problem)
    assert line["event"].startswith("policy bundle not taken from the registry")
    assert why in scene.taking.problem
    assert len(scene.served.asked) == asked + 1
    assert scene.metric("sallyport_bundle_source_problem") == 1
    own = announce_with_source(lambda: GateAnnouncement(BASE, ""), scene.taking)()
    await scene.store.create_announcements()
    await scene.store.announce(CONTROL, own)
    found = await standing_of(scene.store, NAMESPACE)
    assert found.source == f"127.0.0.1:{scene.served.port}/policies/site:stable"
    assert why in found.source_problem
    assert not found.is_settled
    scene.served.tag("stable", FIRST)
    await scene.look()
    assert (scene.taking.problem, scene.metric("sallyport_bundle_source_problem")) == ("", 0)


async def test_a_registry_that_is_away_changes_nothing(scene: Scene) -> None:
    """It is asked again; then what is there is taken."""
    scene.served.failing = 503
    assert (await scene.look()).wanted == BASE
    assert "answers 503 now" in scene.taking.problem
    assert scene.metric("sallyport_bundle_source_looks_total", result="away") == 1
    scene.served.failing = 0
    assert (await scene.look()).wanted == revision_of(FIRST)
    assert scene.taking.problem == ""


async def test_a_token_service_that_is_away_is_no_refusal(scene: Scene) -> None:
    """The metric tells them apart, and it is asked again."""
    scene.served.signed_in, scene.served.failing_tokens = True, 503
    assert (await scene.look()).wanted == BASE
    assert "token service answers 503 now" in scene.taking.problem
    assert scene.metric("sallyport_bundle_source_looks_total", result="away") == 1
    assert scene.metric("sallyport_bundle_source_looks_total", result="refused") == 0
    scene.served.signed_in = False
    assert (await scene.look()).wanted == revision_of(FIRST)


async def test_what_is_wanted_already_is_only_noted(scene: Scene) -> None:
    """Somebody had activated the same file."""
    first = await scene.look()
    read = await scene.store.read()
    await scene.store.write(
        read, BundleHead(turn=first.turn, wanted=first.wanted, bundles=first.bundles)
    )
    found = await scene.look()
    assert (found.turn, found.taken) == (first.turn, first.taken)


async def test_the_same_policies_under_another_signature_are_published(
    scene: Scene, tmp_path: Path
) -> None:
    """Else a gate that starts after its key was replaced would never be ready."""
    before = await scene.look()
    new = ed25519.Ed25519PrivateKey.generate()
    again = add_signature(retitled(1), SigningKey(new), "b")
    scene.settings.bundles.keys["new"] = write_public(new, tmp_path / "new.pem")
    scene.served.tag("stable", again)
    found = await scene.look()
    assert (found.wanted, found.taken) == (before.wanted, scene.served.tags["stable"])
    (stored,) = found.bundles
    parts = [scene.cluster.kept[f"{PATH}/{name}"]["binaryData"] for name in stored.names()]
    assert b"".join(base64.b64decode(part[PART_KEY]) for part in parts) == again


async def test_who_is_no_leader_writes_nothing(scene: Scene) -> None:
    """Nor asks the registry."""
    over = Leadership(1, -math.inf, time.monotonic)
    with pytest.raises(Exception, match="leader"):
        await scene.taking.run(over)
    assert (scene.served.asked, scene.cluster.kept) == ([], {})


async def test_of_two_who_write_at_once_one_looks_again(scene: Scene) -> None:
    """Both have read the same head: it becomes that of one of them, whole."""
    one = scene.taking
    scene.anew()
    both = asyncio.Barrier(2)
    for taking in (one, scene.taking):
        taking.image = replace(taking.image, check=_together(taking.image.check, both))
    ended = await asyncio.gather(one.run(LEADER), scene.taking.run(LEADER), return_exceptions=True)
    (failed,) = [each for each in ended if each is not None]
    assert isinstance(failed, ClusterError)
    assert "somebody else publishes" in str(failed)
    assert (await scene.look()).wanted == revision_of(FIRST)


def _together(
    check: Callable[[bytes, str], Awaitable[PublishedBundle]], both: asyncio.Barrier
) -> Callable[[bytes, str], Awaitable[PublishedBundle]]:
    """Return the same, which ends when both have come so far."""

    async def checked(packed: bytes, path: str) -> PublishedBundle:
        found = await check(packed, path)
        await both.wait()
        return found

    return checked


async def test_the_password_is_read_anew_each_time(scene: Scene, tmp_path: Path) -> None:
    """A Secret that is mounted changes while the process runs."""
    scene.served.signed_in = True
    file = tmp_path / "password"
    file.write_text("another")
    source = {"oci": str(scene.taking.image.named), "username": USER, "password_file": file}
    scene.follow(tmp_path, **source)
    assert (await scene.look()).wanted == BASE
    assert "answers 401 and no token" in scene.taking.problem
    file.write_text(f"{PASSWORD}\n")
    assert (await scene.look()).wanted == revision_of(FIRST)


def test_unsigned_bundles_must_be_allowed(tmp_path: Path) -> None:
    """Else who may write to the registry would decide which policies are in force."""
    known = settings(tmp_path, oci="r.example/a:b")
    without = known.model_copy(update={"bundles": known.bundles.model_copy(update={"keys": {}})})
    with pytest.raises(SettingsError, match=r"bundles\.source\.oci.*: give bundles\.keys"):
        make_bundle_source(without, Cluster(), CollectorRegistry())  # type: ignore[arg-type]
    assert make_bundle_source(settings(tmp_path), Cluster(), CollectorRegistry()) is None  # type: ignore[arg-type]
