"""Signed heads: what is signed is written down, and nothing else passes for it."""

import json
from typing import Any

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from audit.ledger.log.heads import (
    decode_head,
    encode_head,
    is_signed,
    key_id,
    sign_head,
    signed_bytes,
)

_KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
_OTHER = Ed25519PrivateKey.from_private_bytes(bytes(32))
_HEAD = sign_head("ab" * 16, 7, bytes(range(32)), 1_700_000_000_123, _KEY)


def test_what_is_signed_is_text() -> None:
    """The signature is over these lines, which can be made without any library."""
    expected = (
        f"sallyport tree head\n1\n{'ab' * 16}\n7\n{bytes(range(32)).hex()}\n"
        f"2023-11-14T22:13:20.123Z\n{key_id(_KEY.public_key())}\n"
    )
    assert signed_bytes(_HEAD) == expected.encode()
    _KEY.public_key().verify(bytes.fromhex(_HEAD.signature), expected.encode())


def test_a_head_comes_back_from_json_and_is_signed() -> None:
    """A head that is encoded and read again is the same, and signed by its key alone."""
    head = decode_head(encode_head(_HEAD))
    assert head == _HEAD
    assert is_signed(head, _KEY.public_key())
    assert not is_signed(head, _OTHER.public_key())


@pytest.mark.parametrize(
    "changes",
    [
        {"size": 8},
        {"root": "00" * 32},
        {"log": "cd" * 16},
        {"time": "2023-11-14T22:13:20.124Z"},
        {"format": 2},
        {"key": key_id(_OTHER.public_key())},
        {"signature": "00" * 64},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_a_change_of_anything_breaks_the_signature(changes: dict[str, Any]) -> None:
    """Whatever of a head is changed, neither key passes for having signed it."""
    changed = msgspec.structs.replace(_HEAD, **changes)
    assert not is_signed(changed, _KEY.public_key())
    assert not is_signed(changed, _OTHER.public_key())


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("size", -1),
        ("root", "AB" * 32),
        ("root", "ab" * 31),
        ("log", "ab\n" * 16),
        ("key", "ab"),
        ("signature", ""),
        ("time", "2023-11-14T22:13:20+01:00"),
        ("time", "soon"),
        ("format", 3),
    ],
    ids=lambda value: repr(value)[:12],
)
def test_what_is_no_head_is_refused(field: str, value: object) -> None:
    """A field that cannot be what it says is named, and the head is not read."""
    content = json.loads(encode_head(_HEAD)) | {field: value}
    with pytest.raises(ValueError, match=rf"{field}|isoformat"):
        decode_head(json.dumps(content).encode())
