"""No bytes break the parsers, and nothing personal or secret survives them."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.access.model.batch import SourceRecord
from audit.access.parsers.reader import RecordReader, make_refused_record
from core.weights.documents.access import Access
from core.weights.documents.intake import RefusedRecord
from tests.harness.worlds.storage_logs import encoded, identity, storage_record
from tests.unit.audit.access.parsers.activity_records import exported, from_rest, kubernetes
from tests.unit.audit.access.parsers.stores import CALLERS, STORES, parsed
from tests.unit.audit.access.parsers.test_entra_audit import THEIRS, changed

PERSON = "ada.canary@example.com"
NAME = "Ada Canary"
SIGNATURE = "c2lnbmF0dXJlLWNhbmFyeQ"
SEEDS = [storage_record(), exported(), from_rest(), kubernetes(), changed([], [THEIRS])]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(sorted({k for one in SEEDS for k in one})) | st.text(max_size=9),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


def read(content: bytes) -> Any:
    """Return what a reader makes of these bytes; it raises nothing."""
    return RecordReader("aks-1", CALLERS).read(SourceRecord(content, "a@0"), "logs", STORES, 1)


@given(st.binary(max_size=300))
@settings(max_examples=150, deadline=None)
def test_no_bytes_whatever_raise_anything(content: bytes) -> None:
    """They are refused, or they are something."""
    assert read(content) is not None


@given(st.sampled_from(SEEDS), st.lists(st.tuples(st.integers(0, 40), JSON), max_size=4))
@settings(max_examples=250, deadline=None)
def test_no_record_with_odd_fields_raises_anything(
    seed: dict[str, Any], changes: list[tuple[int, Any]]
) -> None:
    """Any field may be of any type, anywhere; what comes out can be written as JSON."""
    record = json.loads(json.dumps(seed))
    for number, value in changes:
        places = _places(record)
        holder, key = places[number % len(places)]
        holder[key] = value
    found = read(json.dumps(record).encode())
    for one in found if isinstance(found, tuple) else (found,):
        assert b"\\u0000" not in msgspec.json.encode(one).replace(b"\\\\u0000", b"")


def _places(value: Any) -> list[tuple[Any, Any]]:
    found: list[tuple[Any, Any]] = []
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in items:
        found.append((value, key))
        if isinstance(item, dict | list) and item:
            found.extend(_places(item))
    return found


@pytest.mark.parametrize("seed", SEEDS)
def test_a_user_name_in_any_field_does_not_survive(seed: dict[str, Any]) -> None:
    """A canary in every text, one after the other, but for paths of blobs, which are evidence."""
    for number in range(len(_places(json.loads(json.dumps(seed))))):
        record = json.loads(json.dumps(seed))
        holder, key = _places(record)[number]
        if key in {"uri", "objectKey", "requestURI"} or not isinstance(holder[key], str):
            continue
        holder[key] = f"{holder[key]} {PERSON}"
        content = json.dumps(record).encode()
        assert PERSON.encode() not in msgspec.json.encode(read(content)), key


def test_the_names_of_a_requester_are_left_behind_everywhere() -> None:
    """Also where another field, known or not, repeats them."""
    asked = {"upn": PERSON, "userName": NAME, "uniqueName": NAME}
    access = parsed(
        identity=identity("OAuth", **asked),
        properties={"userAgentHeader": f"tool of {NAME}", "clientRequestId": NAME},
        requesterDisplayName=NAME,
        remark=[f"by {NAME}"],
    )
    content = msgspec.json.encode(access).decode()
    assert "anary" not in content
    assert access.extra["remark"] == ["by (person)"]


@pytest.mark.parametrize(
    "query",
    [
        f"sv=2025&sp=r&sig={SIGNATURE}",
        f"SIG={SIGNATURE}&sp=r",
        f"sp=r%26sig%3D{SIGNATURE}",
        f"prefix=a%26sig%253D{SIGNATURE}",
    ],
)
def test_no_signature_survives(query: str) -> None:
    """Not of the uri, whatever its case or encoding, nor where a path was written as a query."""
    secret = {
        "userAgentHeader": f"x?sig={SIGNATURE}",
        "referrerHeader": f"https://a/?sig={SIGNATURE}",
    }
    for access in (
        parsed(query=query, properties=secret, note=f"https://a/b?se=1&sig={SIGNATURE}"),
        parsed(
            uri=f"https://weightsprod.blob.core.windows.net/llama/a%3Fsp=r%26sig={SIGNATURE}",
            properties={"objectKey": f"/weightsprod/llama/a?sp=r&sig={SIGNATURE}"},
        ),
        parsed(
            properties={
                "sourceUri": f"https://a.blob.core.windows.net/c/b?sig={SIGNATURE}",
                "destinationUri": f"https://a.blob.core.windows.net/c/b?sig={SIGNATURE}",
            }
        ),
    ):
        assert isinstance(access, Access)
        assert SIGNATURE not in msgspec.json.encode(access).decode()


def test_quarantine_keeps_neither_names_nor_signatures() -> None:
    """A record that cannot be read is kept as it came, but for them."""
    told = identity("OAuth", upn=PERSON, userName=NAME)
    raw = encoded(storage_record(time="?", identity=told, query=f"sp=r&sig={SIGNATURE}"))
    found = read(raw)
    assert isinstance(found, RefusedRecord)
    assert (found.size, found.place, found.reason) == (
        len(raw),
        "a@0",
        "time: is no time between 2010 and 2200",
    )
    assert "anary" not in found.record
    assert SIGNATURE not in found.record
    assert '"operationName":"GetBlob"' in found.record


def test_the_same_bytes_of_the_same_place_are_one_refusal() -> None:
    """Only the time in its id differs when they come again."""
    where = {"cluster": "aks-1", "source": "logs", "place": "a@0", "reason": "bad"}
    one, again = (make_refused_record(b"{", **where, unix_ms=ms) for ms in (1, 2))
    assert one.id[15:] == again.id[15:] != make_refused_record(b"[", **where, unix_ms=1).id[15:]
