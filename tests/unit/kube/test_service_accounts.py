"""When a ServiceAccount was made is read from its metadata."""

import datetime as dt
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import InvalidObjectError
from kube.service_accounts import parse_made


def account(made: Any) -> bytes:
    """Give a ServiceAccount."""
    metadata = {"name": "runner", "namespace": "train", "creationTimestamp": made}
    return msgspec.json.encode({"metadata": metadata})


@given(seconds=st.integers(0, 2**33))
def test_the_time_is_in_unix_seconds(seconds: int) -> None:
    """As kube-apiserver writes it, RFC 3339 in UTC."""
    assert parse_made(account(dt.datetime.fromtimestamp(seconds, dt.UTC))) == float(seconds)


def test_another_zone_is_the_same_time() -> None:
    """An offset counts."""
    assert parse_made(account("2026-01-02T05:04:05+02:00")) == parse_made(
        account("2026-01-02T03:04:05Z")
    )


@pytest.mark.parametrize("made", [None, "", "yesterday", 5, "2026-01-02T03:04:05"])
def test_a_broken_time_is_an_error_that_names_the_field(made: Any) -> None:
    """A time without a zone too: it would be read in the machine's own."""
    with pytest.raises(InvalidObjectError, match=r"metadata\.creationTimestamp"):
        parse_made(account(made))
