"""Decision ids are UUIDs of version 7 (RFC 9562, section 5.7)."""

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.ids import uuid7

TIMES = st.integers(0, 2**48 - 1)


@given(unix_ms=TIMES)
def test_id_is_a_version_7_uuid_of_its_time(unix_ms: int) -> None:
    """Version and variant are RFC 9562's, and the first 48 bits are the milliseconds."""
    text = uuid7(unix_ms)
    parsed = uuid.UUID(text)
    assert (parsed.version, parsed.variant) == (7, uuid.RFC_4122)
    assert parsed.int >> 80 == unix_ms
    assert str(parsed) == text


@given(earlier=TIMES, later=TIMES)
def test_ids_sort_by_time(earlier: int, later: int) -> None:
    """As texts, an earlier millisecond's id comes first."""
    earlier, later = sorted((earlier, later))
    assert earlier == later or uuid7(earlier) < uuid7(later)


def test_ids_of_one_moment_differ() -> None:
    """74 bits are random: a thousand ids of one millisecond are a thousand ids."""
    assert len({uuid7(1_800_000_000_000) for _ in range(1000)}) == 1000


def test_time_that_does_not_fit_is_refused() -> None:
    """A time past the year 10889 is an error, not another version's UUID."""
    with pytest.raises(ValueError, match="128-bit"):
        uuid7(2**48)
