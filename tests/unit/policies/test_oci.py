"""Bundles out of an OCI registry: by digest, over TLS, with a token; nothing else is taken."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from core.errors import BundleRefusedError, RegistryAwayError, SettingsError
from policies import BUILT_IN_BUNDLE
from policies.bundle import parse_bundle
from policies.clients.oci import Registry, fetch, parse_reference, parse_source, resolve
from tests.harness.pki import Authority
from tests.harness.registry import LAYER, PASSWORD, USER
from tests.harness.registry import Registry as Served
from tests.harness.registry import registry as serving

BUNDLE = BUILT_IN_BUNDLE.read_bytes()


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[Served]:
    """A registry that everyone may read."""
    async with serving(Authority(tmp_path)) as made:
        yield made


@pytest.fixture
def registry(served: Served, tmp_path: Path) -> Registry:
    """How it is asked."""
    del served
    return Registry(tmp_path / "ca.crt", timeout_s=20.0)


async def test_a_bundle_is_fetched_by_its_digest(served: Served, registry: Registry) -> None:
    """It is the file that was pushed."""
    packed = await fetch(parse_reference(served.push(BUNDLE)), registry)
    assert parse_bundle(packed, "b") == parse_bundle(BUNDLE, "b")


async def test_who_may_not_read_asks_for_a_token(served: Served, registry: Registry) -> None:
    """With the password that the settings hold; without it there is none."""
    served.signed_in = True
    reference = parse_reference(served.push(BUNDLE))
    known = replace(registry, username=USER, password=PASSWORD)
    assert await fetch(reference, known) == BUNDLE
    for wrong in (registry, replace(known, password="another")):
        with pytest.raises(BundleRefusedError, match="answers 401 and no token"):
            await fetch(reference, wrong)
    assert PASSWORD not in repr(known)


async def test_no_password_goes_where_there_is_no_tls(served: Served, registry: Registry) -> None:
    """Wherever the registry says that tokens are given."""
    served.signed_in, served.realm = True, f"http://127.0.0.1:{served.port}/token"
    known = replace(registry, username=USER, password=PASSWORD)
    with pytest.raises(BundleRefusedError, match="no token that is asked for over https"):
        await fetch(parse_reference(served.push(BUNDLE)), known)


async def test_another_content_than_asked_for_is_refused(
    served: Served, registry: Registry
) -> None:
    """A registry is not believed: neither the manifest nor the layer."""
    reference = served.push(BUNDLE)
    for digest in list(served.blobs):
        before = served.blobs[digest]
        served.blobs[digest] = before + b" "
        with pytest.raises(BundleRefusedError, match="has not the digest"):
            await fetch(parse_reference(reference), registry)
        served.blobs[digest] = before


@pytest.mark.parametrize(
    ("layers", "kind", "why"),
    [
        ((), LAYER, "it has 0 layers"),
        ((b"a", b"b"), LAYER, "it has 2 layers"),
        ((BUNDLE,), "application/vnd.oci.image.layer.v1.tar", "it has 0 layers"),
    ],
    ids=["none", "two", "of another kind"],
)
async def test_an_image_of_another_shape_is_refused(
    served: Served, registry: Registry, layers: tuple[bytes, ...], kind: str, why: str
) -> None:
    """A bundle is one layer."""
    with pytest.raises(BundleRefusedError, match=why):
        await fetch(parse_reference(served.push(*layers, media_type=kind)), registry)


async def test_what_is_not_there_is_said(served: Served, registry: Registry) -> None:
    """With what was asked for."""
    reference = parse_reference(served.push(BUNDLE))
    served.blobs.clear()
    with pytest.raises(BundleRefusedError, match="answers 404 for its manifests sha256:"):
        await fetch(reference, registry)


async def test_another_authority_is_not_believed(served: Served) -> None:
    """Without its CA the registry is a stranger."""
    with pytest.raises(BundleRefusedError, match="does not answer"):
        await fetch(parse_reference(served.push(BUNDLE)), Registry(timeout_s=20.0))
    assert served.asked == []


async def test_a_way_without_tls_is_refused(served: Served, registry: Registry) -> None:
    """Also where the registry itself leads there."""
    served.redirects_to = "http://127.0.0.1:9"
    with pytest.raises(BundleRefusedError, match=r"does not answer|without TLS"):
        await fetch(parse_reference(served.push(BUNDLE)), registry)


@pytest.mark.parametrize(
    "text",
    [
        "registry.example/site",
        "registry.example/site:1.0",
        f"site@sha256:{64 * 'a'}",
        f"registry.example/../site@sha256:{64 * 'a'}",
        f"registry.example/site@sha256:{63 * 'a'}",
        f"http://registry.example/site@sha256:{64 * 'a'}",
        f"registry.example/site?x@sha256:{64 * 'a'}",
    ],
)
def test_an_image_is_named_by_its_digest(text: str) -> None:
    """What a tag leads to may change between two looks."""
    with pytest.raises(SettingsError, match="name an image by its digest"):
        parse_reference(text)


def test_a_tag_beside_the_digest_says_nothing() -> None:
    """As people copy it from a registry's pages."""
    found = parse_reference(f"oci://r.example:5000/a/b-c:1.0@sha256:{64 * 'a'}")
    assert str(found) == f"r.example:5000/a/b-c@sha256:{64 * 'a'}"


async def test_a_tag_is_what_the_registry_says_now(served: Served, registry: Registry) -> None:
    """Its digest is what is fetched then; one that is named by its digest is not asked for."""
    named = parse_source(served.tag("stable", b"first"))
    first = await resolve(named, registry)
    assert first.digest == served.tags["stable"]
    served.tag("stable", BUNDLE)
    second = await resolve(named, registry)
    assert await fetch(second, registry) == BUNDLE
    served.asked.clear()
    assert await resolve(second, registry) == second
    assert served.asked == []


async def test_a_tag_that_is_not_there_is_no_image(served: Served, registry: Registry) -> None:
    """As a digest that is not there."""
    named = parse_source(served.tag("stable", BUNDLE))
    served.tags.clear()
    with pytest.raises(BundleRefusedError, match="answers 404 for its manifests stable"):
        await resolve(named, registry)


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_a_registry_that_is_busy_is_away(
    served: Served, registry: Registry, status: int
) -> None:
    """Nothing is known of the bundle."""
    named = parse_source(served.tag("stable", BUNDLE))
    served.failing = status
    with pytest.raises(RegistryAwayError, match=f"answers {status} now"):
        await resolve(named, registry)


def test_a_source_has_a_tag_or_a_digest() -> None:
    """A digest beside a tag is what counts."""
    assert str(parse_source("r.example/a/b:stable")) == "r.example/a/b:stable"
    pinned = f"r.example/a/b@sha256:{64 * 'a'}"
    assert str(parse_source(pinned.replace("@", ":stable@"))) == pinned
    with pytest.raises(SettingsError, match="by tag or digest"):
        parse_source("r.example/a/b")
