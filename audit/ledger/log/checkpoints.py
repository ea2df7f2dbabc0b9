"""Checkpoints of a log, and cosignatures of witnesses (https://c2sp.org/tlog-checkpoint). Pure.

    origin, which names the log
    size, in decimal digits
    root, in base64

A checkpoint is a signed note of these lines. A witness's signature (cosignature/v1) says besides
when: this was the largest tree that it had seen of the log, and it had seen no other.
"""

import base64
import binascii
import re
from dataclasses import dataclass
from typing import Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from audit.ledger.log.heads import TreeHead
from audit.ledger.log.merkle import HASH_BYTES
from audit.ledger.log.signed_notes import (
    Note,
    NoteError,
    NoteSignature,
    SignatureType,
    VerifierKey,
    sign_note,
)

ORIGIN: Final = "sallyport.dev/ledger/"
"""Before a log's id: no space, so that no checkpoint is the text of a head (`signed_bytes`), which
the same key signs."""

_SIZE: Final = re.compile(r"0|[1-9][0-9]{0,18}")
_MOST_SIZE: Final = 2**63 - 1
_MOST_TIME: Final = 2**63 - 1
_TIME_BYTES: Final = 8
_LINES: Final = 3


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What a log says that it is."""

    origin: str
    size: int
    root: bytes

    @property
    def text(self) -> str:
        """The text that is signed."""
        return f"{self.origin}\n{self.size}\n{base64.b64encode(self.root).decode()}\n"


def parse_checkpoint(text: str) -> Checkpoint:
    """Read the text of a checkpoint; lines after the third are nobody's statement.

    Raises:
        NoteError: it is none.
    """
    lines = text.split("\n")[:-1]
    if len(lines) < _LINES or not all(lines):
        raise NoteError("a checkpoint has an origin, a size and a root, and no empty line")
    origin, size, root = lines[:_LINES]
    if not _SIZE.fullmatch(size) or int(size) > _MOST_SIZE:
        raise NoteError("the second line of a checkpoint is its size, in decimal digits")
    return Checkpoint(origin, int(size), parse_hash(root))


def parse_hash(text: str) -> bytes:
    """Read a hash in base64.

    Raises:
        NoteError: it is none of 32 bytes, or is not written as base64 writes it.
    """
    try:
        content = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):  # The latter where it is not ASCII.
        content = b""
    if len(content) != HASH_BYTES or base64.b64encode(content).decode() != text:
        raise NoteError(f"{text[:64]!r} is no hash: give {HASH_BYTES} bytes in base64")
    return content


def origin_of(log: str) -> str:
    """Return the origin of a ledger's log; its key's name is the same."""
    return ORIGIN + log


def checkpoint_of(head: TreeHead) -> Checkpoint:
    """Return what a head says as a checkpoint."""
    return Checkpoint(origin_of(head.log), head.size, bytes.fromhex(head.root))


def sign_checkpoint(head: TreeHead, key: Ed25519PrivateKey) -> Note:
    """Return the checkpoint of a head, signed with the key of the log."""
    text = checkpoint_of(head).text
    return Note(text, (sign_note(text, origin_of(head.log), key),))


def cosigned_bytes(text: str, time_s: int) -> bytes:
    """Return what a cosignature of a checkpoint's text is over."""
    return f"cosignature/v1\ntime {time_s}\n{text}".encode()


def cosign(text: str, name: str, key: Ed25519PrivateKey, time_s: int) -> NoteSignature:
    """Return a witness's signature of a checkpoint's text, at a Unix time."""
    verifier = VerifierKey.of(name, SignatureType.COSIGNATURE, key.public_key())
    signature = time_s.to_bytes(_TIME_BYTES) + key.sign(cosigned_bytes(text, time_s))
    return NoteSignature(name, verifier.key_id, signature)


def cosigned_at(text: str, signature: NoteSignature, key: VerifierKey) -> int:
    """Return the Unix time at which a witness cosigned a checkpoint's text.

    Raises:
        NoteError: the signature is not this key's.
    """
    if key.kind is not SignatureType.COSIGNATURE:
        raise NoteError(f"the key of {key.name} is none of a witness (type 4)")
    time_s = int.from_bytes(signature.signature[:_TIME_BYTES])
    is_named = (signature.name, signature.key_id) == (key.name, key.key_id)
    signed = cosigned_bytes(text, time_s)
    if not is_named or not key.is_signed(signature.signature[_TIME_BYTES:], signed):
        raise NoteError(f"the cosignature is not that of {key.name}")
    if not 0 < time_s <= _MOST_TIME:
        raise NoteError(f"the cosignature of {key.name} has no time")
    return time_s
