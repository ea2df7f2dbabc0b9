"""`control` takes bundles from a registry: what is new is wanted, what is bad changes nothing."""

import asyncio
import math
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ed25519
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from prometheus_client import CollectorRegistry

from cli.bundle_source import make_taking, saying
from cli.policy_published import standing_of
from cli.settings import Settings
from control.loops.bundle_source import Taking
from core.bundle_head import BASE, CONTROL, Announcement, Head
from core.errors import ClusterError, SettingsError
from kube.bundle_store import BundleStore, wanting
from kube.lease import Leadership
from policies.bundle import signed
from policies.signing import Signing
from tests.harness.bundles import retitled, revision_of
from tests.harness.pki import Authority
from tests.harness.registry import PASSWORD, USER, Registry, registry
from tests.unit.kube.config_maps import NAMESPACE, Cluster

LEADER = Leadership(1, math.inf, time.monotonic)
KEY = ed25519.Ed25519PrivateKey.generate()
FIRST, SECOND = (signed(retitled(number), Signing(KEY), "b") for number in (1, 2))


@dataclass
class Scene:
    """A registry, a cluster, and control's loop between them."""

    served: Registry
    cluster: Cluster
    settings: Settings
    taking: Taking
    metrics: CollectorRegistry

    @property
    def store(self) -> BundleStore:
        """What is published."""
        return BundleStore(self.cluster, NAMESPACE)  # type: ignore[arg-type]

    async def look(self) -> Head:
        """Have the loop look once; give the head then."""
        await self.taking.run(LEADER)
        return (await self.store.read()).head

    def metric(self, name: str, **labels: str) -> float:
        """Give a metric."""
        return self.metrics.get_sample_value(name, labels) or 0.0

    def anew(self) -> None:
        """Have another replica lead, which knows nothing."""
        self.metrics = CollectorRegistry()
        made = make_taking(self.settings, self.cluster, self.metrics)  # type: ignore[arg-type]
        assert made is not None
        self.taking = made


def settings(tmp_path: Path, **source: Any) -> Settings:
    """Give the settings of control."""
    public = tmp_path / "my.pem"
    shown = KEY.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    public.write_bytes(shown)
    section = {"ca_file": tmp_path / "ca.crt", **source}
    return Settings.model_validate(
        {"namespace": NAMESPACE, "bundles": {"keys": {"k": public}, "source": section}}
    )


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[Scene]:
    """The first bundle lies in the registry under a tag; nothing is published."""
    async with registry(Authority(tmp_path)) as served:
        known = settings(tmp_path, oci=served.tag("stable", FIRST))
        cluster, metrics = Cluster(), CollectorRegistry()
        taking = make_taking(known, cluster, metrics)  # type: ignore[arg-type]
        assert taking is not None
        yield Scene(served, cluster, known, taking, metrics)


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
    assert abs(scene.metric("sallyport_bundle_source_seen_seconds") - time.time()) < 3600


async def test_who_goes_back_is_not_overruled(scene: Scene) -> None:
    """By the same image, whoever leads; a new one is taken."""
    before = await scene.look()
    read = await scene.store.read()
    await scene.store.write(read, wanting(before, BASE))
    scene.anew()
    assert (await scene.look()).wanted == BASE
    scene.served.tag("stable", SECOND)
    assert (await scene.look()).wanted == revision_of(SECOND)


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (retitled(3), "is not signed"),
        (signed(retitled(3), Signing(ed25519.Ed25519PrivateKey.generate()), "b"), "none of"),
        (b"no bundle", "cannot be read as a bundle"),
    ],
    ids=["unsigned", "another key", "junk"],
)
async def test_a_bad_bundle_changes_nothing_and_is_told(scene: Scene, bad: bytes, why: str) -> None:
    """In `policy status`, in a metric and in the log; it is not fetched again."""
    good = await scene.look()
    scene.served.tag("stable", bad)
    assert await scene.look() == good
    assert why in scene.taking.problem
    asked = len(scene.served.asked)
    await scene.look()
    assert len(scene.served.asked) == asked + 1
    assert scene.metric("sallyport_bundle_source_problem") == 1
    own = saying(lambda: Announcement(BASE, ""), scene.taking)()
    await scene.store.make_place()
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


async def test_what_is_wanted_already_is_only_noted(scene: Scene) -> None:
    """Somebody had activated the same file."""
    first = await scene.look()
    read = await scene.store.read()
    await scene.store.write(read, Head(turn=first.turn, wanted=first.wanted, bundles=first.bundles))
    found = await scene.look()
    assert (found.turn, found.taken) == (first.turn, first.taken)


async def test_who_is_no_leader_writes_nothing(scene: Scene) -> None:
    """Nor asks the registry."""
    over = Leadership(1, -math.inf, time.monotonic)
    with pytest.raises(Exception, match="leader"):
        await scene.taking.run(over)
    assert (scene.served.asked, scene.cluster.kept) == ([], {})


async def test_of_two_who_write_at_once_one_looks_again(scene: Scene) -> None:
    """The head is that of one of them, whole."""
    other = make_taking(scene.settings, scene.cluster, CollectorRegistry())  # type: ignore[arg-type]
    assert other is not None
    ended = await asyncio.gather(
        scene.taking.run(LEADER), other.run(LEADER), return_exceptions=True
    )
    assert all(each is None or isinstance(each, ClusterError) for each in ended)
    assert (await scene.look()).wanted == revision_of(FIRST)


async def test_the_password_is_read_anew_each_time(scene: Scene, tmp_path: Path) -> None:
    """A Secret that is mounted changes while the process runs."""
    scene.served.signed_in = True
    file = tmp_path / "password"
    file.write_text("another")
    source = {"oci": str(scene.taking.image.named), "username": USER, "password_file": file}
    scene.settings = settings(tmp_path, **source)
    scene.anew()
    assert (await scene.look()).wanted == BASE
    assert "answers 401 and no token" in scene.taking.problem
    file.write_text(f"{PASSWORD}\n")
    assert (await scene.look()).wanted == revision_of(FIRST)


def test_unsigned_bundles_must_be_allowed(tmp_path: Path) -> None:
    """Else who may write to the registry would decide which policies are in force."""
    known = settings(tmp_path, oci="r.example/a:b")
    without = known.model_copy(update={"bundles": known.bundles.model_copy(update={"keys": {}})})
    with pytest.raises(SettingsError, match=r"bundles\.source\.oci.*: give bundles\.keys"):
        make_taking(without, Cluster(), CollectorRegistry())  # type: ignore[arg-type]
    with pytest.raises(SettingsError, match="by tag or digest"):
        make_taking(settings(tmp_path, oci="r.example/a"), Cluster(), CollectorRegistry())  # type: ignore[arg-type]
    assert make_taking(settings(tmp_path), Cluster(), CollectorRegistry()) is None  # type: ignore[arg-type]
