"""Signed bundles: OPA takes ours and we take OPA's; what is not as it was signed is refused."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from core.base.errors import BundleRefusedError, SettingsError
from policies.bundle.format import add_signature, parse_bundle, unpack
from policies.bundle.signature_keys import PrivateKey, read_signing_key
from policies.bundle.signatures import SIGNATURES, BundleKeys, read_keys, sign, verify
from tests.tools.provide import provide

KINDS: dict[str, Callable[[], PrivateKey]] = {
    "ES256": lambda: ec.generate_private_key(ec.SECP256R1()),
    "RS256": lambda: rsa.generate_private_key(65537, 2048),
    "EdDSA": ed25519.Ed25519PrivateKey.generate,
}
ODD = (
    '{"revision":"","roots":["a"],"metadata":{"b":[1,2.50,1e9,-0.0],"a":{"é\\u2028<&>":null},'
    '"é\\u0001\\b\\u007f":true}}'
).encode()
"""A manifest whose canonical form differs from it in each way that JSON leaves open."""


def pair(folder: Path, name: str, key: PrivateKey) -> tuple[Path, Path]:
    """Write a private and a public key."""
    private, public = folder / f"{name}.key", folder / f"{name}.pub"
    private.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    shown = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    public.write_bytes(shown)
    return private, public


@pytest.fixture(params=KINDS)
def written(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, Path, Path]:
    """An algorithm, and files of a private and a public key."""
    return request.param, *pair(tmp_path, "mine", KINDS[request.param]())


def opa_takes(bundle: Path, algorithm: str, public: Path) -> bool:
    """Return whether `opa build` verifies a bundle."""
    flags = ("--verification-key", public, "--verification-key-id", "k", "--signing-alg", algorithm)
    command = [provide("opa"), "build", "-b", bundle, *flags, "-o", bundle.with_suffix(".out")]
    return subprocess.run([*map(str, command)], capture_output=True, check=False).returncode == 0


def test_opa_takes_what_we_sign(
    built: Path, tmp_path: Path, written: tuple[str, Path, Path]
) -> None:
    """By our key; by another key it does not."""
    algorithm, private, public = written
    bundle = tmp_path / "b.tar.gz"
    bundle.write_bytes(add_signature(built.read_bytes(), read_signing_key(private, "k"), "b"))
    _, other = pair(tmp_path, "other", KINDS[algorithm]())
    assert (opa_takes(bundle, algorithm, public), opa_takes(bundle, algorithm, other)) == (
        True,
        False,
    )


def test_we_take_what_opa_signs(tmp_path: Path, written: tuple[str, Path, Path]) -> None:
    """Also where the canonical form of a manifest is not how it is written."""
    algorithm, private, public = written
    folder = tmp_path / "bundle"
    folder.mkdir()
    (folder / ".manifest").write_bytes(ODD)
    (folder / "data.json").write_text('{"a": {"b": "x\\ty", "A": [ ]}}\n')
    (folder / "x.rego").write_text("package a.x\n")
    flags = ("--signing-key", private, "--signing-alg", algorithm)
    command = [provide("opa"), "sign", "--bundle", ".", *flags]
    subprocess.run([*map(str, command)], cwd=folder, check=True, capture_output=True)
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert verify(files, read_keys({"k": public}), "b") == "k"


@pytest.fixture
def mine(tmp_path: Path) -> tuple[BundleKeys, dict[str, bytes]]:
    """Public keys, and files that one of them signed."""
    private, public = pair(tmp_path, "mine", KINDS["ES256"]())
    _, coming = pair(tmp_path, "coming", KINDS["EdDSA"]())
    files = {".manifest": b'{"b":1,"a":2}', "policy.wasm": b"\0asm"}
    files[SIGNATURES] = sign(files, read_signing_key(private, "2025"))
    return read_keys({"2025": public, "2026": coming}), files


def test_one_of_several_keys_is_enough(mine: tuple[BundleKeys, dict[str, bytes]]) -> None:
    """So that one can replace the other; the id says which it was."""
    keys, files = mine
    assert verify(files, keys, "b") == "2025"


def test_the_order_of_a_manifest_does_not_matter(mine: tuple[BundleKeys, dict[str, bytes]]) -> None:
    """OPA signs what it says, not how it is written."""
    keys, files = mine
    assert verify(files | {".manifest": b'{"a": 2, "b": 1}'}, keys, "b") == "2025"


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"policy.wasm": b"\0ASM"}, "policy.wasm is not what was signed"),
        ({".manifest": b'{"b":1,"a":3}'}, ".manifest is not what was signed"),
        ({"data.json": b"{}"}, "data.json is not signed"),
        ({SIGNATURES: b"{}"}, "cannot be read"),
        ({SIGNATURES: b'{"signatures":["a.b"]}'}, "cannot be read"),
        ({SIGNATURES: b'{"signatures":["e30.e30.e30"]}'}, "none of the keys"),
        ({SIGNATURES: b"[" * 100_000}, "cannot be read"),
        ({SIGNATURES: b'{"signatures":["eyJraWQiOlsieCJdfQ.e30.e30"]}'}, "cannot be read"),
    ],
)
def test_what_is_not_as_it_was_signed_is_refused(
    mine: tuple[BundleKeys, dict[str, bytes]], change: dict[str, bytes], why: str
) -> None:
    """Each with what is wrong, and how to sign."""
    keys, files = mine
    with pytest.raises(BundleRefusedError, match=rf"{why}.*policy build --signing-key"):
        verify(files | change, keys, "b")


def test_a_file_that_was_signed_must_be_there(mine: tuple[BundleKeys, dict[str, bytes]]) -> None:
    """To leave one out is to change the bundle."""
    keys, files = mine
    del files["policy.wasm"]
    with pytest.raises(BundleRefusedError, match=r"policy\.wasm is signed and missing"):
        verify(files, keys, "b")


def test_an_unknown_key_is_refused(
    mine: tuple[BundleKeys, dict[str, bytes]], tmp_path: Path
) -> None:
    """Also where it takes the id of one that is known."""
    keys, files = mine
    private, _ = pair(tmp_path, "stranger", KINDS["ES256"]())
    for key_id in ("2025", "2026", "stranger", ""):
        forged = sign(files, read_signing_key(private, key_id))
        with pytest.raises(BundleRefusedError, match="none of the keys"):
            verify(files | {SIGNATURES: forged}, keys, "b")


def test_an_unsigned_bundle_is_refused_where_there_are_keys(
    built: Path, mine: tuple[BundleKeys, dict[str, bytes]]
) -> None:
    """And taken where there are none."""
    packed = built.read_bytes()
    assert SIGNATURES not in unpack(packed, "b")
    assert parse_bundle(packed, "b").signed_by == ""
    with pytest.raises(BundleRefusedError, match="it is not signed"):
        parse_bundle(packed, "b", mine[0])


def test_a_signature_changes_no_revision(built: Path, tmp_path: Path) -> None:
    """So that a bundle is known by what it says."""
    private, public = pair(tmp_path, "mine", KINDS["EdDSA"]())
    packed = built.read_bytes()
    own = add_signature(packed, read_signing_key(private, "k"), "b")
    found = parse_bundle(own, "b", read_keys({"k": public}))
    assert (found.revision, found.signed_by) == (parse_bundle(packed, "b").revision, "k")


@pytest.mark.parametrize(
    "key",
    [
        lambda: ec.generate_private_key(ec.SECP384R1()),
        lambda: rsa.generate_private_key(65537, 1024),  # noqa: S505 -- to be refused
    ],
    ids=["P-384", "RSA of 1024 bits"],
)
def test_other_keys_sign_nothing(key: Callable[[], PrivateKey], tmp_path: Path) -> None:
    """It is said which kinds do."""
    private, public = pair(tmp_path, "other", key())
    with pytest.raises(SettingsError, match="must be of the curve P-256"):
        read_signing_key(private)
    with pytest.raises(SettingsError, match=r"bundles\.keys: k: .* must be of the curve P-256"):
        read_keys({"k": public})
