"""What is said of a bundle is short and plain, whatever words of its own it holds."""

import base64
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric import ed25519

from app.bundles.check import check_bundle
from app.settings.root import Settings
from core.base.errors import BundleRefusedError
from core.base.safe_text import LONGEST_PROBLEM
from policies import BUILT_IN_BUNDLE
from policies.bundle.format import pack, parse_bundle, unpack
from policies.bundle.signatures import BundleKeys
from tests.unit.cli.conftest import Run

LOUD = "\x1b[2J\x07\r\n\u202e" + 200_000 * "x"
KEYS = BundleKeys({"k": ed25519.Ed25519PrivateKey.generate().public_key()})
FILES = unpack(BUILT_IN_BUNDLE.read_bytes(), "b")


def with_own(**said: Any) -> bytes:
    """Return the built-in bundle with other things in its manifest."""
    manifest = msgspec.json.decode(FILES[".manifest"])
    manifest["metadata"]["sallyport"] |= said
    return pack(FILES | {".manifest": json.dumps(manifest).encode()})


def rules(**said: str) -> list[dict[str, Any]]:
    """Return rules of which two have the same words."""
    first = msgspec.json.decode(FILES[".manifest"])["metadata"]["sallyport"]["rules"][0]
    return [first | said, first | said]


def signed_as(header: Mapping[str, str]) -> bytes:
    """Return a bundle whose signature is none, and names what it likes."""
    parts = [base64.urlsafe_b64encode(json.dumps(each).encode()) for each in (header, {})]
    token = b".".join([*(part.rstrip(b"=") for part in parts), b"AAAA"]).decode()
    return pack(FILES | {".signatures.json": json.dumps({"signatures": [token]}).encode()})


LOUD_ONES = {
    "a rule twice": (with_own(rules=rules(id=LOUD)), BundleKeys()),
    "a format": (with_own(format=int(4000 * "9")), BundleKeys()),
    "a key's id": (signed_as({"alg": "EdDSA", "kid": LOUD}), KEYS),
    "a file's name": (pack(FILES | {"\x1b[2J\r\nroot": b""} | {".signatures.json": b"{}"}), KEYS),
}


@pytest.mark.parametrize(("packed", "keys"), LOUD_ONES.values(), ids=LOUD_ONES)
def test_what_is_said_is_cut_and_spelt_out(packed: bytes, keys: BundleKeys) -> None:
    """One line of printable characters, which says whose file it is."""
    with pytest.raises(BundleRefusedError) as refused:
        parse_bundle(packed, "my-bundle.tar.gz", keys)
    assert str(refused.value).startswith("my-bundle.tar.gz: ")
    assert str(refused.value).isprintable()
    assert len(str(refused.value)) <= LONGEST_PROBLEM


def test_a_terminal_gets_no_more(run: Run, tmp_path: Path) -> None:
    """Of a command that reads somebody's file."""
    file = tmp_path / "b.tar.gz"
    file.write_bytes(LOUD_ONES["a rule twice"][0])
    done = run("review", "--bundle", file, "/dev/null")
    assert (done.code, done.out) == (2, "")
    assert f"{file}: .manifest: the rule \\x1b[2J\\x07\\r\\n\\u202exxx" in done.err
    assert len(done.err) < LONGEST_PROBLEM + 20
    assert done.err.removesuffix("\n").isprintable()


def test_what_is_tried_out_says_no_more_either() -> None:
    """A rule of a site that stands in a built-in one's place."""
    own = rules(id=f"privileges/{LOUD}")[0] | {"site": True}
    path = "rego/site/a/\x1b[2J\n.rego"
    packed = pack(unpack(with_own(rules=[own]), "b") | {path: f"package {'y' * 200_000}".encode()})
    with pytest.raises(BundleRefusedError) as refused:
        check_bundle(packed, "b", Settings())
    assert "is Sallyport's own" in str(refused.value) or "package yyy" in str(refused.value)
    assert str(refused.value).isprintable()
    assert len(str(refused.value)) <= LONGEST_PROBLEM
