"""When a ServiceAccount was made, and whom it signs in as, is read from its metadata."""

import datetime as dt
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.errors import InvalidObjectError
from core.cluster import AccountSignIn
from kube.resources.service_accounts import creation_time, parse_account, parse_written, sign_in_of

CLIENT, TENANT = "azure.workload.identity/client-id", "azure.workload.identity/tenant-id"
MADE = "2026-01-02T03:04:05Z"


def account(made: Any, **annotations: Any) -> bytes:
    """Return a ServiceAccount."""
    metadata: dict[str, Any] = {"name": "runner", "namespace": "train", "creationTimestamp": made}
    if annotations:
        metadata["annotations"] = annotations
    return msgspec.json.encode({"metadata": metadata})


@given(seconds=st.integers(0, 2**33))
def test_the_time_is_in_unix_seconds(seconds: int) -> None:
    """As kube-apiserver writes it, RFC 3339 in UTC."""
    found = parse_account(account(dt.datetime.fromtimestamp(seconds, dt.UTC)))
    assert creation_time(found) == float(seconds)


def test_another_zone_is_the_same_time() -> None:
    """An offset counts."""
    assert parse_account(account("2026-01-02T05:04:05+02:00")) == parse_account(account(MADE))


@pytest.mark.parametrize("made", [None, "", "yesterday", 5, "2026-01-02T03:04:05"])
def test_a_broken_time_is_an_error_that_names_the_field(made: Any) -> None:
    """A time without a zone too: it would be read in the machine's own."""
    with pytest.raises(InvalidObjectError, match=r"metadata\.creationTimestamp"):
        parse_account(account(made))


@given(client=st.text(max_size=64), tenant=st.text(max_size=64))
def test_whom_it_signs_in_as_is_kept_as_it_is_written(client: str, tenant: str) -> None:
    """Beside the time, whether it was made or is only written down."""
    found = parse_account(account(MADE, **{CLIENT: client, TENANT: tenant, "other": "x"}))
    assert sign_in_of(found) == AccountSignIn(client, tenant)
    assert creation_time(found) == creation_time(parse_account(account(MADE)))
    written = msgspec.json.encode({"metadata": {"annotations": {CLIENT: client, TENANT: tenant}}})
    assert (sign_in_of(parse_written(written)), creation_time(parse_written(written))) == (
        AccountSignIn(client, tenant),
        0.0,
    )


def test_of_most_the_time_alone_is_kept() -> None:
    """An account that says nothing of Entra ID takes no more memory than a number."""
    assert isinstance(parse_account(account(MADE)), float)
    assert isinstance(parse_account(account(MADE, other="x")), float)
    assert sign_in_of(1.0) == AccountSignIn()


def test_one_id_of_many_accounts_is_kept_once() -> None:
    """50,000 accounts that sign in as one application hold its id once, and never a long text."""
    ids = [
        sign_in_of(parse_account(account(MADE, **{CLIENT: "c-of-" + "many"}))).client_id
        for _ in range(2)
    ]
    assert ids[0] is ids[1]
    assert len(sign_in_of(parse_account(account(MADE, **{CLIENT: 9999 * "c"}))).client_id) == 64
