"""Signed notes (https://c2sp.org/signed-note): a text and its signatures, a line each. Pure.

    text, ended by a line feed
    (empty line)
    — name base64(key id, 4 bytes || signature)

A key is known by its name and id. Signatures of unknown keys are ignored; a wrong one of a known
key makes the note none.
"""

import base64
import binascii
import enum
import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Self

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

MOST_NOTE: Final = 128 * 1024
"""Bytes of a note: 16 signatures, which any reader must take, are 80 kB after quantum."""

MOST_SIGNATURES: Final = 64

_KEY_ID_BYTES: Final = 4
_KEY_BYTES: Final = 32
_BEGIN: Final = "— "
_CONTROL: Final = re.compile(r"[\x00-\x09\x0b-\x1f]")


class SignatureType(enum.IntEnum):
    """What a signature is over, by the byte that goes into the key's id."""

    NOTE = 0x01
    """Ed25519 over the text."""
    COSIGNATURE = 0x04
    """Ed25519 over the text and a time (https://c2sp.org/tlog-cosignature)."""


class NoteError(ValueError):
    """It is no note, or none that its keys signed."""


@dataclass(frozen=True, slots=True)
class NoteSignature:
    """One line under a note."""

    name: str
    key_id: bytes
    signature: bytes

    @property
    def line(self) -> str:
        """The line, with its end."""
        coded = base64.b64encode(self.key_id + self.signature).decode()
        return f"{_BEGIN}{self.name} {coded}\n"


@dataclass(frozen=True, slots=True)
class Note:
    """A text with its signatures, which nobody has verified yet."""

    text: str
    """With the end of its last line."""
    signatures: tuple[NoteSignature, ...]

    @property
    def content(self) -> bytes:
        """The note as it is passed on."""
        return (self.text + "\n" + "".join(each.line for each in self.signatures)).encode()


@dataclass(frozen=True, slots=True)
class VerifierKey:
    """A public key with the name under which it signs, and for what."""

    name: str
    kind: SignatureType
    raw: bytes
    """32 bytes."""

    @property
    def key_id(self) -> bytes:
        """What stands before its signatures."""
        content = self.name.encode() + b"\n" + bytes([self.kind]) + self.raw
        return hashlib.sha256(content).digest()[:_KEY_ID_BYTES]

    @property
    def text(self) -> str:
        """The key as people pass it on: NAME+ID+BASE64."""
        coded = base64.b64encode(bytes([self.kind]) + self.raw).decode()
        return f"{self.name}+{self.key_id.hex()}+{coded}"

    @classmethod
    def of(cls, name: str, kind: SignatureType, key: Ed25519PublicKey) -> Self:
        """Return the key of a name."""
        return cls(demand_name(name), kind, key.public_bytes_raw())

    def signed(self, note: Note) -> NoteSignature | None:
        """Return the first signature of a note that says it is of this key."""
        for each in note.signatures:
            if (each.name, each.key_id) == (self.name, self.key_id):
                return each
        return None

    def is_signed(self, signature: bytes, message: bytes) -> bool:
        """Return whether a signature is this key's."""
        try:
            Ed25519PublicKey.from_public_bytes(self.raw).verify(signature, message)
        except (InvalidSignature, ValueError):
            return False
        return True


def parse_verifier_key(text: str) -> VerifierKey:
    """Read NAME+ID+BASE64.

    Raises:
        NoteError: it is none of Ed25519, or its id is not that of its name and key.
    """
    name, _, rest = text.partition("+")
    written_id, _, coded = rest.partition("+")
    try:
        content = base64.b64decode(coded, validate=True)
        kind = SignatureType(content[0])
    except (binascii.Error, IndexError, ValueError):
        raise NoteError("give NAME+ID+BASE64, a key of type 1 or 4 (Ed25519)") from None
    if len(content) != 1 + _KEY_BYTES:
        raise NoteError(f"a key of Ed25519 has {_KEY_BYTES} bytes, not {len(content) - 1}")
    key = VerifierKey(demand_name(name), kind, content[1:])
    if written_id != key.key_id.hex():
        raise NoteError(f"its id is {key.key_id.hex()}, and not {written_id[:16]!r}")
    return key


def demand_name(name: str) -> str:
    """Return the name of a key.

    Raises:
        NoteError: it is none: it may be neither empty nor have a space or a plus in it.
    """
    if not name or "+" in name or any(each.isspace() for each in name) or _CONTROL.search(name):
        raise NoteError(f"{name!r} is no name of a key: it has neither spaces nor +")
    return name


def sign_note(text: str, name: str, key: Ed25519PrivateKey) -> NoteSignature:
    """Return the signature of a text (type 1)."""
    verifier = VerifierKey.of(name, SignatureType.NOTE, key.public_key())
    return NoteSignature(name, verifier.key_id, key.sign(text.encode()))


def parse_note(content: bytes) -> Note:
    """Read a note; what it says is not to be believed before a signature is verified.

    Raises:
        NoteError: it is none.
    """
    if len(content) > MOST_NOTE:
        raise NoteError(f"it is longer than {MOST_NOTE:,} bytes")
    try:
        whole = content.decode()
    except UnicodeDecodeError:
        raise NoteError("it is not UTF-8") from None
    if _CONTROL.search(whole):
        raise NoteError("it has control characters")
    text, found, rest = whole.rpartition("\n\n")
    if not (found and text and rest.endswith("\n")):
        raise NoteError("it has no text, empty line and signatures")
    lines = rest[:-1].split("\n")
    if len(lines) > MOST_SIGNATURES:
        raise NoteError(f"it has more than {MOST_SIGNATURES} signatures")
    return Note(f"{text}\n", tuple(map(parse_signature, lines)))


def parse_signature(line: str) -> NoteSignature:
    """Read a line of a signature, without its end.

    Raises:
        NoteError: it is none.
    """
    name, _, coded = line.removeprefix(_BEGIN).partition(" ")
    if not line.startswith(_BEGIN):
        raise NoteError("a line of a signature begins with an em dash and a space")
    try:
        content = base64.b64decode(coded, validate=True)
    except binascii.Error:
        content = b""
    if len(content) <= _KEY_ID_BYTES:
        raise NoteError("a signature is the base64 of a key's id and of what it signed")
    return NoteSignature(demand_name(name), content[:_KEY_ID_BYTES], content[_KEY_ID_BYTES:])


def demand_signed(note: Note, keys: Iterable[VerifierKey]) -> list[VerifierKey]:
    """Return which of these keys (of type 1) signed a note.

    Raises:
        NoteError: none did, or a signature of one of them is wrong.
    """
    signed = []
    for key in keys:
        found = key.signed(note)
        if found is None or key.kind is not SignatureType.NOTE:
            continue
        if not key.is_signed(found.signature, note.text.encode()):
            raise NoteError(f"the signature of {key.name} is wrong")
        signed.append(key)
    if not signed:
        raise NoteError("no key that is known signed it")
    return signed
