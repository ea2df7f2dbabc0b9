"""Documents that are stored compressed (zlib, RFC 1950): a quarter of their size. Pure.

A document is JSON and begins with `{`, a packed one with 0x78, by which the two are told apart.
"""

import zlib
from typing import Final

from audit.ledger.records.frames import MAX_BODY

_LEAST: Final = 512
"""Bytes below which little is won."""

_LEVEL: Final = 3
"""Of zlib: 6 takes twice the time for a tenth less."""

_FIRST: Final = b"\x78"


def pack(document: bytes) -> bytes:
    """Return what is stored of a document: it itself where it is short, or grows."""
    if len(document) < _LEAST or not document.startswith(b"{"):
        return document
    packed = zlib.compress(document, _LEVEL)
    return packed if len(packed) < len(document) else document


def unpack(stored: bytes) -> bytes:
    """Return the document; what is no packed one, or unpacks to more than any has, as it is.

    Somebody may have written it past the ledger: then it is no document, and verifying says so.
    """
    if not stored.startswith(_FIRST):
        return stored
    unpacking = zlib.decompressobj()
    try:
        document = unpacking.decompress(stored, MAX_BODY)
    except zlib.error:
        return stored
    return document if unpacking.eof and not unpacking.unused_data else stored
