"""The search for canaries finds them in whatever form: else finding none would mean nothing."""

import base64
import gzip
import json
import zlib

import pytest

from tests.harness.sightings import sightings

WORD = "canary.person@canary.example"
PLAIN = f"user {WORD} is at risk".encode()


@pytest.mark.parametrize(
    "hidden",
    [
        PLAIN,
        PLAIN.upper(),
        base64.b64encode(PLAIN),
        base64.urlsafe_b64encode(PLAIN).rstrip(b"="),
        b"x" + base64.b64encode(b"ab" + PLAIN),
        PLAIN.hex().encode(),
        zlib.compress(PLAIN),
        gzip.compress(PLAIN, mtime=0),
        b"\x00\x01frame" + zlib.compress(b"{" + PLAIN + b"}") + b"rest",
        base64.b64encode(zlib.compress(PLAIN)),
        json.dumps(
            {"data": base64.b64encode(json.dumps(PLAIN.decode()).encode()).decode()}
        ).encode(),
        PLAIN.replace(b"@", b"%40"),
        PLAIN.replace(b"@", b"\\u0040"),
        base64.b64encode(base64.b64encode(zlib.compress(PLAIN))),
    ],
)
def test_marked_secret_is_found_in_every_encoding(hidden: bytes) -> None:
    """As it is, encoded, packed, in the middle of something else, and one in another."""
    assert sightings(b"something before " + hidden + b" something after", [WORD]) == {WORD}


@pytest.mark.parametrize(
    "content", [b"", b"canary.person", zlib.compress(b"x" * 100), b"%4", b"x\x9cno"]
)
def test_nothing_is_found_where_there_is_nothing(content: bytes) -> None:
    """Neither in what is broken."""
    assert sightings(content, [WORD]) == set()
