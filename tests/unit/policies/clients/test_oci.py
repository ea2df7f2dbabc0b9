"""Bundles out of an OCI registry: by digest, over TLS, with a token; nothing else is taken."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from core.base.errors import (
    BundleNotGivenError,
    BundleRefusedError,
    RegistryAwayError,
    SettingsError,
)
from policies import BUILT_IN_BUNDLE
from policies.bundle.format import parse_bundle
from policies.clients.oci_registry import Reference, Registry, fetch, parse_reference, resolve
from tests.harness.fakes.oci_registry import LAYER, NAME, PASSWORD, TOKEN, USER
from tests.harness.fakes.oci_registry import Registry as Served
from tests.harness.fakes.oci_registry import registry as serving
from tests.harness.programs.pki import Authority

BUNDLE = BUILT_IN_BUNDLE.read_bytes()


def by_digest(text: str) -> Reference:
    """Read what `policy fetch` is given."""
    return parse_reference(text, "IMAGE", pinned=True)


def by_either(text: str) -> Reference:
    """Read what the setting of `control` says."""
    return parse_reference(text, "bundles.source.oci")


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    """The one that is believed."""
    return Authority(tmp_path)


@pytest.fixture
async def served(authority: Authority) -> AsyncIterator[Served]:
    """A registry that everyone may read."""
    async with serving(authority) as made:
        yield made


@pytest.fixture
async def elsewhere(authority: Authority, served: Served) -> AsyncIterator[Served]:
    """Another host, whose certificate is believed too, to which the first one leads for blobs."""
    async with serving(authority) as made:
        served.redirects_to = f"https://localhost:{made.port}/v2/{NAME}/blobs"
        yield made


@pytest.fixture
def registry(authority: Authority) -> Registry:
    """How it is asked."""
    return Registry(authority.certificate_path, timeout_s=20.0)


async def test_a_bundle_is_fetched_by_its_digest(served: Served, registry: Registry) -> None:
    """It is the file that was pushed."""
    packed = await fetch(by_digest(served.push(BUNDLE)), registry)
    assert parse_bundle(packed, "b") == parse_bundle(BUNDLE, "b")


async def test_registry_client_asks_for_a_token_when_unauthorized(
    served: Served, registry: Registry
) -> None:
    """With the password that the settings hold; without it there is none."""
    served.signed_in = True
    reference = by_digest(served.push(BUNDLE))
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
        await fetch(by_digest(served.push(BUNDLE)), known)


async def test_another_content_than_asked_for_is_refused(
    served: Served, registry: Registry
) -> None:
    """A registry is not believed: neither the manifest nor the layer."""
    reference = served.push(BUNDLE)
    for digest in list(served.blobs):
        before = served.blobs[digest]
        served.blobs[digest] = before + b" "
        with pytest.raises(BundleRefusedError, match="has not the digest"):
            await fetch(by_digest(reference), registry)
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
        await fetch(by_digest(served.push(*layers, media_type=kind)), registry)


async def test_what_is_not_there_is_said(served: Served, registry: Registry) -> None:
    """With what was asked for."""
    reference = by_digest(served.push(BUNDLE))
    served.blobs.clear()
    with pytest.raises(BundleRefusedError, match="answers 404 for its manifests sha256:"):
        await fetch(reference, registry)


async def test_another_authority_is_not_believed(served: Served) -> None:
    """Without its CA the registry is a stranger."""
    with pytest.raises(RegistryAwayError, match="does not answer") as raised:
        await fetch(by_digest(served.push(BUNDLE)), Registry(timeout_s=20.0))
    assert not isinstance(raised.value, BundleRefusedError)  # Nothing was refused.
    assert served.asked == []


async def test_a_way_without_tls_is_not_gone(served: Served, registry: Registry) -> None:
    """Also where the registry itself leads there: nobody is asked in the clear."""
    came: list[str] = []
    server = await asyncio.start_server(lambda *_: came.append("somebody"), "127.0.0.1", 0)
    async with server:
        served.redirects_to = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        known = replace(registry, timeout_s=5.0)
        with pytest.raises(BundleNotGivenError, match="without TLS"):
            await fetch(by_digest(served.push(BUNDLE)), known)
    assert came == []


async def test_nobody_is_led_on_for_ever(served: Served, registry: Registry) -> None:
    """A registry that leads to itself is asked a few times."""
    served.redirects_to = f"/v2/{NAME}/blobs"
    with pytest.raises(BundleNotGivenError, match="leads on more than 5 times"):
        await fetch(by_digest(served.push(BUNDLE)), registry)
    assert len(served.asked) == 1 + 6  # The manifest, and the blob again and again.


async def test_blobs_may_lie_elsewhere(
    served: Served, elsewhere: Served, registry: Registry
) -> None:
    """Nothing that the registry gave or was given is told there."""
    served.signed_in = True
    reference = by_digest(served.push(BUNDLE))
    elsewhere.push(BUNDLE)
    assert await fetch(reference, replace(registry, username=USER, password=PASSWORD)) == BUNDLE
    assert f"Bearer {TOKEN}" in served.credentials
    assert (len(elsewhere.asked), elsewhere.credentials) == (1, [])


async def test_the_password_is_the_registrys_alone(
    served: Served, elsewhere: Served, registry: Registry
) -> None:
    """Another host to which it leads cannot say who is to be given it."""
    elsewhere.signed_in = True
    reference = by_digest(served.push(BUNDLE))
    elsewhere.push(BUNDLE)
    with pytest.raises(BundleNotGivenError, match="answers 401 for its blobs"):
        await fetch(reference, replace(registry, username=USER, password=PASSWORD))
    assert (served.credentials, elsewhere.credentials) == ([], [])


@pytest.mark.parametrize("token", ["a\r\nX-More: b", "", " ", "\u2026"])
async def test_a_token_that_no_header_holds_is_refused(
    served: Served, registry: Registry, token: str
) -> None:
    """With what is wrong, and without the token."""
    served.signed_in, served.token = True, token
    with pytest.raises(BundleNotGivenError, match=r"that no header holds$|no token$"):
        await fetch(
            by_digest(served.push(BUNDLE)), replace(registry, username=USER, password=PASSWORD)
        )


@pytest.mark.parametrize("host", ["u:p@127.0.0.1:9", f"{64 * 'a'}.example", "[", "[\u202e"])
async def test_an_address_that_is_none_is_an_answer_like_any(
    served: Served, registry: Registry, host: str
) -> None:
    """What the registry says of where to sign in ends in no defect."""
    served.signed_in, served.realm = True, f"https://{host}/token"
    known = replace(registry, username=USER, password=PASSWORD)
    with pytest.raises(RegistryAwayError, match="does not answer") as raised:
        await fetch(by_digest(served.push(BUNDLE)), known)
    assert str(raised.value).isprintable()


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
    with pytest.raises(SettingsError, match=r"IMAGE: .*: name an image by its digest"):
        by_digest(text)


def test_a_tag_beside_the_digest_says_nothing() -> None:
    """As people copy it from a registry's pages."""
    found = by_digest(f"oci://r.example:5000/a/b-c:1.0@sha256:{64 * 'a'}")
    assert str(found) == f"r.example:5000/a/b-c@sha256:{64 * 'a'}"


async def test_a_tag_is_what_the_registry_says_now(served: Served, registry: Registry) -> None:
    """Its digest is what is fetched then; one that is named by its digest is not asked for."""
    named = by_either(served.tag("stable", b"first"))
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
    named = by_either(served.tag("stable", BUNDLE))
    served.tags.clear()
    with pytest.raises(BundleRefusedError, match="answers 404 for its manifests stable"):
        await resolve(named, registry)


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_a_registry_that_is_busy_is_away(
    served: Served, registry: Registry, status: int
) -> None:
    """Nothing is known of the bundle."""
    named = by_either(served.tag("stable", BUNDLE))
    served.failing = status
    with pytest.raises(RegistryAwayError, match=f"answers {status} now"):
        await resolve(named, registry)


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_a_token_service_that_is_busy_is_away(
    served: Served, registry: Registry, status: int
) -> None:
    """It has not said that nobody may read: a refusal would be another answer."""
    named = by_either(served.tag("stable", BUNDLE))
    served.signed_in, served.failing_tokens = True, status
    with pytest.raises(RegistryAwayError, match=f"token service answers {status} now"):
        await resolve(named, registry)


def test_a_source_has_a_tag_or_a_digest() -> None:
    """A digest beside a tag is what counts."""
    assert str(by_either("r.example/a/b:stable")) == "r.example/a/b:stable"
    pinned = f"r.example/a/b@sha256:{64 * 'a'}"
    assert str(by_either(pinned.replace("@", ":stable@"))) == pinned
    with pytest.raises(
        SettingsError, match=r"bundles\.source\.oci: r.example/a/b: name an image by its tag"
    ):
        by_either("r.example/a/b")
