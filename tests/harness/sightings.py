"""Looks for words that must be nowhere, also where they are encoded, packed or both."""

import base64
import binascii
import re
import zlib
from collections.abc import Collection, Iterator
from typing import Final
from urllib.parse import unquote_to_bytes

_DEEPEST: Final = 4
_MOST: Final = 64 * 1024 * 1024
_BASE64: Final = re.compile(rb"[A-Za-z0-9+/_-]{12,}={0,2}")
_HEX: Final = re.compile(rb"(?:[0-9a-fA-F]{2}){6,}")
_PACKED: Final = re.compile(rb"x[\x01\x5e\x9c\xda]|\x1f\x8b\x08")
"""How zlib's streams and gzip's files begin."""
_ESCAPE: Final = re.compile(rb"\\u([0-9a-fA-F]{4})")


def sightings(content: bytes, words: Collection[str]) -> set[str]:
    """Return the words that content has, in whatever case: as text, base64, hex, packed by zlib."""
    wanted = {word: word.lower().encode() for word in words}
    found: set[str] = set()
    seen: set[bytes] = set()
    for plain in _forms(content, seen, 0):
        lowered = plain.lower()
        found |= {word for word, raw in wanted.items() if raw in lowered}
    return found


def _forms(content: bytes, seen: set[bytes], depth: int) -> Iterator[bytes]:
    if content in seen:
        return
    seen.add(content)
    yield content
    if depth == _DEEPEST:
        return
    for inner in (*_unescaped(content), *_decoded(content), *_unpacked(content)):
        yield from _forms(inner, seen, depth + 1)


def _unescaped(content: bytes) -> Iterator[bytes]:
    if b"%" in content:
        yield unquote_to_bytes(content)
    if b"\\u" in content:
        yield _ESCAPE.sub(lambda each: chr(int(each[1], 16)).encode(errors="replace"), content)


def _decoded(content: bytes) -> Iterator[bytes]:
    for each in _BASE64.findall(content):
        text = each.rstrip(b"=").translate(bytes.maketrans(b"-_", b"+/"))
        for start in range(4):  # It may be a part of a longer one, beginning anywhere.
            part = text[start:]
            try:
                yield base64.b64decode(part[: len(part) // 4 * 4] + _padding(part))
            except (binascii.Error, ValueError):
                continue
    for each in _HEX.findall(content):
        yield binascii.unhexlify(each)


def _padding(text: bytes) -> bytes:
    left = text[len(text) // 4 * 4 :]
    return left + b"=" * (4 - len(left)) if len(left) > 1 else b""


def _unpacked(content: bytes) -> Iterator[bytes]:
    for match in _PACKED.finditer(content):
        try:
            yield zlib.decompressobj(wbits=zlib.MAX_WBITS | 32).decompress(
                content[match.start() :], _MOST
            )
        except zlib.error:
            continue
