"""What keeps `control` from taking a bundle is told, wherever it lies."""

import random
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry
from structlog.testing import capture_logs

from app.processes.control.bundle_source import make_bundle_source
from core.base.errors import (
    BundleRefusedError,
    ClusterError,
    EngineAwayError,
    InvalidObjectError,
    SallyportError,
    SettingsError,
)
from core.base.safe_text import LONGEST_PROBLEM
from core.policy_bundles import BASE, HEAD_KEY, HEAD_NAME, PublishedBundle
from policies.bundle.format import add_signature, pack, unpack
from policies.bundle.signature_keys import SigningKey
from tests.harness.fakes.oci_registry import PASSWORD, USER
from tests.harness.worlds.policy_bundles import retitled, revision_of
from tests.unit.app.processes.bundle_registry import FIRST, KEY, LEADER, Scene, scene_in, settings
from tests.unit.kube.config_maps import PATH, Cluster


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[Scene]:
    """The first bundle lies in the registry under a tag; nothing is published."""
    async with scene_in(tmp_path) as made:
        yield made


async def test_a_long_problem_is_told_once(scene: Scene) -> None:
    """It is cut, in the log and in what is announced."""

    def refuse(_: bytes, path: str) -> PublishedBundle:
        raise BundleRefusedError(path + LONGEST_PROBLEM * "x")

    scene.check_by(refuse)
    with capture_logs() as logs:
        for _ in range(3):
            await scene.look()
    assert [line["problem"] for line in logs] == [scene.taking.problem]
    assert len(scene.taking.problem) == LONGEST_PROBLEM


async def test_a_bundle_that_cannot_be_published_is_refused(scene: Scene) -> None:
    """It is too large for ConfigMaps: it is fetched once, and not tried out."""
    junk = random.Random(0).randbytes(8 << 20)  # noqa: S311 (no secret)
    large = add_signature(pack(unpack(retitled(3), "b") | {"junk": junk}), SigningKey(KEY), "b")
    scene.served.tag("stable", large)
    tried: list[str] = []

    def check(_: bytes, path: str) -> PublishedBundle:
        tried.append(path)
        return PublishedBundle("r", "", 0, 1)

    scene.check_by(check)
    assert (await scene.look()).wanted == BASE
    assert "is larger than 7200 KiB" in scene.taking.problem
    asked = len(scene.served.asked)
    await scene.look()
    assert len(scene.served.asked) == asked + 1
    assert scene.metric("sallyport_bundle_source_looks_total", result="refused") == 2
    assert tried == []


@pytest.mark.parametrize("layers", [(), (FIRST, FIRST)], ids=["none", "two"])
async def test_an_image_that_is_no_bundle_is_not_fetched_again(
    scene: Scene, layers: tuple[bytes, ...]
) -> None:
    """What its digest names stays so."""
    scene.served.tag("stable", *layers)
    await scene.look()
    problem, asked = scene.taking.problem, len(scene.served.asked)
    assert f"it has {len(layers)} layers" in problem
    await scene.look()
    assert (scene.taking.problem, len(scene.served.asked)) == (problem, asked + 1)  # The tag.


async def test_what_a_registry_does_not_give_is_asked_for_again(
    scene: Scene, tmp_path: Path
) -> None:
    """Pinned, and nobody may read it yet; then it is not there, then it is."""
    image = scene.served.push(FIRST)
    scene.follow(tmp_path, oci=image)
    scene.served.signed_in = True
    assert (await scene.look()).wanted == BASE
    assert "answers 401 and no token" in scene.taking.problem
    scene.served.signed_in = False
    kept = dict(scene.served.blobs)
    scene.served.blobs.clear()
    assert (await scene.look()).wanted == BASE
    assert "answers 404" in scene.taking.problem
    scene.served.blobs.update(kept)
    assert (await scene.look()).wanted == revision_of(FIRST)


async def test_a_token_that_no_header_holds_is_told(scene: Scene, tmp_path: Path) -> None:
    """It is no defect of the loop."""
    scene.served.signed_in, scene.served.token = True, "a\r\nb"
    (tmp_path / "password").write_text(PASSWORD)
    source = {"username": USER, "password_file": tmp_path / "password"}
    scene.follow(tmp_path, oci=scene.taking.image.named, **source)
    assert (await scene.look()).wanted == BASE
    assert "gives a token that no header holds" in scene.taking.problem
    assert scene.metric("sallyport_bundle_source_looks_total", result="refused") == 1


def no_ca(_: Scene, tmp_path: Path) -> None:
    """Take the CA away."""
    (tmp_path / "ca.crt").write_text("no CA")


def no_head(scene: Scene, _: Path) -> None:
    """Damage the head."""
    metadata = {"name": HEAD_NAME, "resourceVersion": "1"}
    scene.cluster.kept[f"{PATH}/{HEAD_NAME}"] = {"metadata": metadata, "data": {HEAD_KEY: "{"}}


def no_engine(scene: Scene, _: Path) -> None:
    """Have nothing evaluate policies."""

    def away(*_: object) -> PublishedBundle:
        raise EngineAwayError("the engine is away")

    scene.check_by(away)


def no_cluster(scene: Scene, _: Path) -> None:
    """Have kube-apiserver refuse what is written."""

    async def refuse(collection: str, body: Mapping[str, Any]) -> dict[str, Any]:
        del collection, body
        raise ClusterError("the cluster refuses", 403)

    scene.cluster.create = refuse  # type: ignore[method-assign]


@pytest.mark.parametrize(
    ("hinder", "error", "why"),
    [
        (no_ca, SettingsError, r"bundles.source.ca_file (SALLYPORT_BUNDLES__SOURCE__CA_FILE): "),
        (no_head, InvalidObjectError, "ConfigMap sallyport-bundles"),
        (no_engine, EngineAwayError, "the engine is away"),
        (no_cluster, ClusterError, "the cluster refuses"),
    ],
    ids=["CA", "head", "engine", "cluster"],
)
async def test_what_hinders_it_is_told(
    scene: Scene,
    tmp_path: Path,
    hinder: Callable[[Scene, Path], None],
    error: type[SallyportError],
    why: str,
) -> None:
    """`policy status` must not say that all is well; the loop fails, and tries again soon."""
    ca = (tmp_path / "ca.crt").read_bytes()
    hinder(scene, tmp_path)
    with capture_logs() as logs:
        for _ in range(2):
            with pytest.raises(error):
                await scene.taking.run(LEADER)
    assert why in scene.taking.problem
    assert [line["problem"] for line in logs] == [scene.taking.problem]
    assert scene.metric("sallyport_bundle_source_problem") == 1
    assert scene.metric("sallyport_bundle_source_looks_total", result="away") == 2
    (tmp_path / "ca.crt").write_bytes(ca)
    scene.cluster = Cluster()
    scene.anew()
    assert (await scene.look()).wanted == revision_of(FIRST)


@pytest.mark.parametrize(
    ("source", "why"),
    [
        (
            {"oci": "r.example/a"},
            r"^bundles\.source\.oci .*: r.example/a: name an image by its tag",
        ),
        ({"password_file": Path("password")}, r"^bundles\.source\.username .*: missing"),
        ({"ca_file": Path("none")}, r"^bundles\.source\.ca_file .*: none cannot be read"),
        (
            {"username": USER, "password_file": Path("none")},
            r"^bundles\.source\.password_file .*: none cannot be read",
        ),
    ],
    ids=["image", "user", "CA", "password"],
)
def test_a_wrong_setting_is_named_at_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: dict[str, Any], why: str
) -> None:
    """Not by the flag of a command, nor at the first look."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "password").write_text(PASSWORD)
    known = settings(tmp_path, **{"oci": "r.example/a:b", "ca_file": None, **source})
    with pytest.raises(SettingsError, match=why):
        make_bundle_source(known, Cluster(), CollectorRegistry())  # type: ignore[arg-type]
