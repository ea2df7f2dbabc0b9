"""What a bundle says takes little memory to read, also where it is made to take much."""

import json
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ed25519

from core.base.errors import BundleRefusedError
from policies.bundle.format import MOST_JSON, Bundle, add_signature, pack, parse_bundle, unpack
from policies.bundle.signature_keys import SigningKey
from policies.bundle.signatures import SIGNATURES, BundleKeys, sign
from policies.engine.cache import RememberingEngine
from policies.trial.evaluation import try_out
from tests.unit.policies.trial.test_trial import make

KEY = ed25519.Ed25519PrivateKey.generate()
KEYS = BundleKeys({"mine": KEY.public_key()})
MANIFEST = '{"metadata":{"sallyport":{"format":3,"rules":[],"cases":[%s]}}}'
CASE = '{"name":"x","projection":%s,"context":%s,"fields":%s}'
EMPTY = MANIFEST % ""
MIB = 1024 * 1024


def full(pattern: str, item: str) -> bytes:
    """Return a manifest with as many items as it may hold, in place of the pattern's `@`."""
    count = (MOST_JSON - len(pattern)) // (len(item) + 1)
    return pattern.replace("@", ",".join([item] * count)).encode()


def bundle(manifest: bytes, **others: bytes) -> dict[str, bytes]:
    """Return a bundle's files."""
    return {".manifest": manifest, "policy.wasm": b"\0asm", **others}


def tampered(manifest: bytes) -> bytes:
    """Return a bundle that was signed, and has another manifest since."""
    files = bundle(EMPTY.encode())
    return pack(bundle(manifest) | {SIGNATURES: sign(files, SigningKey(KEY, "mine"))})


@contextmanager
def measured() -> Iterator[Callable[[], int]]:
    """Yield what says how much memory was taken at most."""
    tracemalloc.start()
    try:
        yield lambda: tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", [".manifest", "data.json", "a/data.json", SIGNATURES])
@pytest.mark.parametrize("keys", [BundleKeys(), KEYS], ids=["unsigned", "signed"])
def test_what_is_parsed_may_be_so_large(name: str, keys: BundleKeys) -> None:
    """It is refused before it is looked into; 15 MiB of it pack to 20 KB."""
    large = pack(bundle(EMPTY.encode()) | {name: b"[" + b"[]," * (5 * MIB) + b"[]]"})
    with pytest.raises(BundleRefusedError, match=f"b: {name}: larger than 2 MiB"):
        parse_bundle(large, "b", keys)
    with pytest.raises(BundleRefusedError, match=f"b: {name}: larger than 2 MiB"):
        add_signature(large, SigningKey(KEY, "mine"), "b")


def test_other_files_may_be_larger() -> None:
    """They are not parsed here."""
    packed = pack(bundle(EMPTY.encode(), **{"x.rego": b"#" * (MOST_JSON + 1)}))
    parse_bundle(add_signature(packed, SigningKey(KEY, "mine"), "b"), "b", KEYS)


@pytest.mark.parametrize("item", ["[]", "{}"])
def test_inputs_of_cases_are_not_parsed(item: str) -> None:
    """Parsed, they would take twenty times as much."""
    for case in (("@", "{}", "{}"), ("{}", "@", "{}"), ("{}", "{}", "@")):
        value = '{"a":[@]}'
        text = MANIFEST % (CASE % tuple(value if each == "@" else each for each in case))
        packed = pack(bundle(full(text, item)))
        with measured() as most:
            found = parse_bundle(packed, "b")
            assert most() < 32 * MIB
        assert len(found.cases) == 1


def test_a_manifest_that_was_not_signed_takes_little_to_refuse() -> None:
    """Its hash is known only once it is read."""
    packed = tampered(full('{"a":[@]}', "[]"))
    with measured() as most:
        with pytest.raises(BundleRefusedError, match="manifest is not what was signed"):
            parse_bundle(packed, "b", KEYS)
        assert most() < 96 * MIB


@pytest.mark.parametrize("odd", ["[]", "1", '"x"'])
@pytest.mark.parametrize("place", ["projection", "context", "fields"])
def test_a_case_whose_input_is_no_object_refuses_the_bundle(
    built: Path, place: str, odd: str
) -> None:
    """It is said where the bundle is tried out."""
    inputs = {
        "projection": '{"containers":[]}',
        "context": '{"operation":"CREATE"}',
        "fields": "{}",
    }
    files = unpack(built.read_bytes(), "b")
    manifest = json.loads(files[".manifest"])
    manifest["metadata"]["sallyport"]["cases"] = [
        {"name": "x"} | {name: json.loads(text) for name, text in (inputs | {place: odd}).items()}
    ]
    files[".manifest"] = json.dumps(manifest).encode()
    odd_one, own = parse_bundle(pack(files), "b"), parse_bundle(built.read_bytes(), "b")
    made: list[RememberingEngine] = []

    def noting(of: Bundle) -> RememberingEngine:
        made.append(make(of))
        return made[0]

    with pytest.raises(BundleRefusedError, match="case 'x' cannot be read: Expected `object"):
        try_out(odd_one, noting, [], own)
