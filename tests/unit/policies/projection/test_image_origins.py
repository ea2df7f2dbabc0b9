"""Where images come from: what runtimes read is read alike, and what they cannot is nobody's."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.profiles.privileges import validate_pattern
from policies.projection.images import Origin, origin, segment

SHA256 = "sha256:" + 4 * "0123456789abcdef"
SHA512 = "sha512:" + 8 * "0123456789abcdef"

READ = {
    "python": "docker.io/library/python",
    "python:3": "docker.io/library/python",
    "localhost:5000": "docker.io/library/localhost",
    "docker.io/python": "docker.io/library/python",
    "index.docker.io/python:3": "docker.io/library/python",
    "index.docker.io/a/b": "docker.io/a/b",
    "a/b": "docker.io/a/b",
    "a/b/c__d:e": "docker.io/a/b/c__d",
    "registry.example": "docker.io/library/registry.example",
    "localhost/a": "localhost/a",
    "LOCAL/a": "LOCAL/a",
    "DOCKER.IO/a": "DOCKER.IO/a",
    "registry.example/a": "registry.example/a",
    "registry.example:443/a/b:1.0": "registry.example:443/a/b",
    "registry:5000/a": "registry:5000/a",
    "10.0.0.1/a": "10.0.0.1/a",
    "[::1]/a": "%5B::1%5D/a",
    "[fd00::1]:5000/a:b": "%5Bfd00::1%5D:5000/a",
    "registry.example/a:sha256-0123": "registry.example/a",
}

UNREADABLE = [
    *("", " ", "a ", " a", "a:1 ", "a\n", "A", "\u212a/a", "\u212a.example/a"),
    *("registry_a.example/a", "a/B", "registry.example/A", "registry.example/", "/a", "a//b"),
    *("a/", "a:", "a:b:c", "a:.b", "a:-b", "..", "a/../b", "registry.example/a/../b"),
    *("registry.example/a..b", "registry.example./a", "registry..example/a", ".registry.example/a"),
    *("-registry.example/a", "registry.example:/a", "registry.example:x/a"),
    *("registry.example:1:2/a", "registry.example:1/a:b/c", "user@registry.example/a"),
    *("user:word@registry.example/a", "https://registry.example/a", "registry.example/a?b"),
    *("registry.example/a%2Fb", "registry.example\\a", "[::1/a", "[::1]x/a", "[::1]:/a"),
    *("[::g]/a", "é/a", "registry.example/é", "registry.example/a@", "registry.example/a@sha256:"),
    *("registry.example/a@sha256:0123", f"registry.example/a@md5:{32 * 'a'}"),
    *(f"registry.example/a@{SHA256.upper()}", f"registry.example/a@{SHA256}0"),
    *(f"registry.example/a@{SHA256} ", f"registry.example/a@{SHA256}@{SHA256}"),
    *(f"registry.example/a@{SHA256}@b", f"registry.example/a:{SHA256}", f"@{SHA256}"),
    *("sha256:0123456789abcdef", SHA256, SHA512),
]


@pytest.mark.parametrize("reference", READ)
def test_what_runtimes_read_is_read_alike(reference: str) -> None:
    """Short names are Docker Hub's; tag and digest are no part of where it comes from."""
    source = READ[reference]
    public = source.lower().startswith("docker.io/") and "/library/" not in source
    assert origin(reference) == Origin(source, pinned=False, public=public)


@pytest.mark.parametrize("name", ["a", "registry.example/a", "registry.example:443/a:latest"])
@pytest.mark.parametrize("digest", [SHA256, SHA512])
def test_a_digest_fixes_the_content(name: str, digest: str) -> None:
    """With a tag beside it or without."""
    assert origin(f"{name}@{digest}") == origin(name)._replace(pinned=True)


@pytest.mark.parametrize("reference", UNREADABLE)
def test_what_cannot_be_read_is_nobodys(reference: str) -> None:
    """It comes from no registry that a pattern could name, and nothing fixes its content."""
    found = origin(reference)
    assert found == Origin(f"%00/{segment(reference)}", pinned=False, public=True)
    assert found.source.count("/") == 1


@pytest.mark.parametrize(
    ("reference", "public"),
    [
        ("somebody/trainer", True),
        ("ghcr.io/somebody/trainer", True),
        ("GHCR.io/somebody/trainer", True),
        ("ghcr.io:443/somebody/trainer", True),
        ("quay.io/jupyter/base-notebook", True),
        ("ttl.sh/a:1h", True),
        ("python:3", False),
        ("docker.io/library/python", False),
        ("docker.io/librarysomebody/python", True),
        ("registry.example/docker.io/somebody/a", False),
        ("nvcr.io/nvidia/pytorch", False),
        ("mcr.microsoft.com/a", False),
        ("site.azurecr.io/a", False),
    ],
)
def test_where_anyone_may_publish_is_public(reference: str, *, public: bool) -> None:
    """Names of one maker alone, and a site's own registries, are not."""
    assert origin(reference).public is public


@given(text=st.one_of(st.text(), st.from_regex(r"[a-z0-9./:@_-]{0,40}", fullmatch=True)))
def test_every_text_gives_segments_of_a_privilege(text: str) -> None:
    """Nothing in a reference can break out of the grammar, or claim another's registry."""
    source = origin(text).source
    validate_pattern(f"image/from/{source}", field="test")
    assert "*" not in source
    host = source.split("/", maxsplit=1)[0]
    if host not in {"%00", "docker.io"}:
        assert re.sub("%5B|%5D", lambda found: {"%5B": "[", "%5D": "]"}[found[0]], host) in text
