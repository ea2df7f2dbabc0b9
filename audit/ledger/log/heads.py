"""Tree heads: what the log was at a time, signed with Ed25519, so that it cannot be taken back.

What is signed is text, one value a line, so that it can be made again without any library.
"""

import datetime as dt
import hashlib
from typing import Final

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from audit.ledger.log.merkle import HASH_BYTES
from core.base.document_part import require_format
from core.base.times import milli_text

FORMAT: Final = 1
"""Version of the head. Readers of release N read FORMAT - 1 and FORMAT + 1 as well."""

KEY_ID_DIGITS: Final = 16

_SIGNATURE_BYTES: Final = 64

_YEARS: Final = range(1970, 9999)
"""Of heads: days can be added to the last of them, and taken from the first."""


class TreeHead(msgspec.Struct, frozen=True, kw_only=True):
    """What the log was: its size and root at a time, by the key that says so."""

    format: int
    log: str
    """The log's id: 32 hex digits that were drawn when the ledger was made."""
    size: int
    """Leaves."""
    root: str
    """Hex."""
    time: str
    """RFC 3339, UTC, milliseconds: by the clock of who signed."""
    key: str
    """The first 16 hex digits of the SHA-256 of the raw public key."""
    signature: str = ""
    """Hex, over `signed_bytes`."""


def signed_bytes(head: TreeHead) -> bytes:
    """Return what the signature of a head is over: text in UTF-8, each line ended."""
    lines = (
        "sallyport tree head",
        str(head.format),
        head.log,
        str(head.size),
        head.root,
        head.time,
        head.key,
    )
    return "".join(f"{line}\n" for line in lines).encode()


def sign_head(log: str, size: int, root: bytes, time_ms: int, key: Ed25519PrivateKey) -> TreeHead:
    """Return the signed head of a log at a time (milliseconds since the epoch)."""
    head = TreeHead(
        format=FORMAT,
        log=log,
        size=size,
        root=root.hex(),
        time=milli_text(time_ms),
        key=key_id(key.public_key()),
    )
    return msgspec.structs.replace(head, signature=key.sign(signed_bytes(head)).hex())


def is_signed(head: TreeHead, key: Ed25519PublicKey) -> bool:
    """Return whether the head is of this key, and its signature is the key's."""
    if head.key != key_id(key):
        return False
    try:
        key.verify(bytes.fromhex(head.signature), signed_bytes(head))
    except (InvalidSignature, ValueError):
        return False
    return True


def key_id(key: Ed25519PublicKey) -> str:
    """Name a public key."""
    return hashlib.sha256(key.public_bytes_raw()).hexdigest()[:KEY_ID_DIGITS]


_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder(TreeHead)


def encode_head(head: TreeHead) -> bytes:
    """Return the head as JSON."""
    return _ENCODER.encode(head)


def decode_head(content: bytes) -> TreeHead:
    """Read a head; whether its signature is right is asked of `is_signed`.

    Raises:
        ValueError: it is none; the message names the field.
    """
    head = _DECODER.decode(content)
    require_format(head.format, FORMAT)
    if head.size < 0:
        raise ValueError("size: a log has no fewer than 0 leaves")
    _demand_hex("log", head.log, 16)
    _demand_hex("root", head.root, HASH_BYTES)
    _demand_hex("key", head.key, KEY_ID_DIGITS // 2)
    _demand_hex("signature", head.signature, _SIGNATURE_BYTES)
    _demand_time(head.time)
    return head


def _demand_time(text: str) -> None:
    moment = dt.datetime.fromisoformat(text)
    if moment.utcoffset() != dt.timedelta():
        raise ValueError("time: it is not in UTC")
    if moment.year not in _YEARS:
        raise ValueError(f"time: {moment.year} is no year of a head")


def _demand_hex(field: str, text: str, length: int) -> None:
    """Demand lower-case hex digits of so many bytes; nothing else may stand in a signed line."""
    try:
        is_whole = bytes.fromhex(text).hex() == text and len(text) == 2 * length
    except ValueError:
        is_whole = False
    if not is_whole:
        message = f"{field}: give {2 * length} hex digits"
        raise ValueError(message)
