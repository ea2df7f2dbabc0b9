"""Image references: read as container runtimes read them, and never as less than they are."""

import re
from typing import Any
from urllib.parse import unquote

import msgspec
from hypothesis import example, given
from hypothesis import strategies as st

from core.kubernetes.pod import decode_pod
from policies.engine.embedded_engine import EmbeddedEngine
from policies.projection.model import MAX_IMAGE, encode
from policies.projection.pods import project

_COMPONENT = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_LABEL = r"(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])"
READABLE = re.compile(
    rf"((?:{_LABEL}(?:\.{_LABEL})*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?)"
    rf"/({_COMPONENT}(?:/{_COMPONENT})*)"
    r"(?::[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?"
    r"(?:@(sha256:[a-f0-9]{64}|sha384:[a-f0-9]{96}|sha512:[a-f0-9]{128}))?"
)
"""distribution/reference v0.6.0, regexp.go, with the digests of opencontainers/go-digest."""

IDS = re.compile("(index\\.|)(docker\\.io/|)(sha(256|384|512)|[0-9a-f]{7,64})(:|@|$)")

PIECES = st.sampled_from(
    [
        *"a b1 A . .. / // : :: @ _ __ ___ - -- [::1] :5000 :latest é %".split(),
        *("docker.io/", "index.docker.io/", "localhost/", "localhost:1/", "r.example/"),
        *(
            "library/",
            "sha256:",
            "sha256",
            "SHA256:",
            "@sha256:" + "0a" * 32,
            "@sha512:" + "f" * 128,
        ),
        *("0a" * 32, " ", "\n", "\u212a", "user:word@"),
    ]
)
REFERENCES = st.lists(PIECES, max_size=6).map("".join).filter(lambda text: len(text) <= MAX_IMAGE)


def complete(reference: str) -> str:
    """Put Docker Hub's host and its folder in where they are left out (normalize.go)."""
    host, slash, rest = reference.partition("/")
    if not slash:
        return f"docker.io/library/{reference}"
    if host == "index.docker.io":
        host = "docker.io"
    elif host != "localhost" and not re.search("[.:]", host) and host.lower() == host:
        host, rest = "docker.io", reference
    if host == "docker.io" and "/" not in rest:
        rest = f"library/{rest}"
    return f"{host}/{rest}"


def ask(engine: EmbeddedEngine, reference: str) -> tuple[str, bool]:
    """Return the repository that a container's image needs, and whether it counts as pinned."""
    made: dict[str, Any] = {"spec": {"containers": [{"name": "c", "image": reference}]}}
    projection = encode(project(decode_pod(msgspec.json.encode(made))))
    needs = engine.evaluate(projection).needs
    (source,) = [need.privilege for need in needs if need.rule == "privileges/image/registry"]
    unpinned = [need.rule for need in needs if need.rule == "privileges/image/digest"]
    return source.removeprefix("image/from/"), not unpinned


@given(reference=REFERENCES)
@example("")
@example("sha256:" + "0a" * 32)
@example("a" + "@sha256:" + "0a" * 32)
@example("index.docker.io/a")
@example("a\n")
@example("\u212a.example/a")
def test_references_are_read_as_runtimes_read_them(
    builtin_engine: EmbeddedEngine, reference: str
) -> None:
    """What a runtime would pull is named exactly; all else is nobody's, whole and unpinned."""
    source, pinned = ask(builtin_engine, reference)
    read = READABLE.fullmatch(complete(reference))
    if not source.startswith("%00/"):
        assert read is not None
        assert (unquote(source), pinned) == (f"{read[1]}/{read[2]}", read[3] is not None)
        return
    assert (unquote(source[4:]), pinned) == (reference or "\0", False)
    # containerd takes "sha256:…", and a name of such digits, for the id of an image of the node's.
    assert read is None or IDS.match(reference)
