"""What is remembered of look backs: small, versioned, and whole or not at all."""

import zlib

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from control.risk.look_back.store import (
    FORMAT,
    MOST,
    LookBackMemory,
    StoredLookBacks,
    decode_memory,
    document_id,
    encode_memory,
)
from core.base.ids import uuid7, uuid7_unix_ms

_RECORDS = st.dictionaries(
    st.binary(min_size=16, max_size=16),
    st.tuples(st.integers(0, 2**32 - 1), st.integers(0, 4), st.integers(0, 2**32 - 1)),
    max_size=20,
)


@given(_RECORDS, _RECORDS)
def test_what_is_stored_is_read_back(
    done: dict[bytes, tuple[int, int, int]], of: dict[bytes, tuple[int, int, int]]
) -> None:
    """With the one that is under way."""
    memory = LookBackMemory(done, uuid7(5), of, "7")
    assert decode_memory(encode_memory(memory), "7") == memory


@given(st.binary(max_size=200))
def test_nonsense_is_refused(content: bytes) -> None:
    """By one kind of error, whatever it is."""
    with pytest.raises(ValueError, match=r"cannot be read|is cut off|has the format|JSON"):
        decode_memory(content, None)


@pytest.mark.parametrize("number", [FORMAT - 2, FORMAT + 2])
def test_another_age_is_refused(number: int) -> None:
    """Its records may mean something else."""
    content = zlib.compress(msgspec.json.encode(StoredLookBacks(format=number)))
    with pytest.raises(ValueError, match=f"has the format {number}"):
        decode_memory(content, None)


def test_the_most_fits_into_a_secret() -> None:
    """Random keys cannot be packed; in base64 it stays below 1 MiB."""
    known = {number.to_bytes(16): (2**31 + number, 3, 2**31) for number in range(MOST)}
    content = encode_memory(LookBackMemory(known, uuid7(5), dict(list(known.items())[:200])))
    assert len(content) * 4 / 3 < 1024 * 1024
    assert decode_memory(content, None).done == known


def test_documents_have_the_same_id_however_often_they_are_made() -> None:
    """Of one look back; its time is that of the look back."""
    running = uuid7(1_795_000_000_000)
    assert document_id(running, b"a") == document_id(running, b"a")
    assert document_id(running, b"a") != document_id(running, b"b")
    assert uuid7_unix_ms(document_id(running, b"a")) == 1_795_000_000_000
