"""Every way in which exports were seen to write a field is read as the same."""

import json
from typing import Any

import pytest

from audit.access.parsers.log_times import normalize_time
from audit.access.parsers.operations import OPERATIONS, SOURCES
from core.weights.documents.access import Act, Caller
from tests.harness.worlds.storage_logs import APPLICATION, BLOB, PRINCIPAL, TENANT, storage_record
from tests.unit.audit.access.parsers.stores import parsed, read


@pytest.mark.parametrize(
    ("text", "address", "caller"),
    [
        ("10.224.0.17:41234", "10.224.0.17", Caller.NODE),
        ("10.224.0.17", "10.224.0.17", Caller.NODE),
        ("10.240.3.4:1", "10.240.3.4", Caller.POD),
        ("10.9.9.9:1", "10.9.9.9", Caller.NETWORK),
        ("192.168.0.4", "192.168.0.4", Caller.PRIVATE),
        ("100.78.192.113", "100.78.192.113", Caller.PRIVATE),
        ("203.0.113.9:443", "203.0.113.9", Caller.PUBLIC),
        ("198.51.100.7:443", "198.51.100.7", Caller.NETWORK),
        ("[fd00:1::5]:443", "fd00:1::5", Caller.NODE),
        ("fd00:1::5", "fd00:1::5", Caller.NODE),
        ("[2001:db8::1]", "2001:db8::1", Caller.PUBLIC),
        ("::ffff:10.224.0.17", "10.224.0.17", Caller.NODE),
        ("<redacted>:5", "", Caller.NONE),
        ("", "", Caller.NONE),
        ("10.224.0.17:41234:9", "", Caller.NONE),
        ("1" * 5000, "", Caller.NONE),
    ],
)
def test_callers_are_placed_with_and_without_a_port(
    text: str, address: str, caller: Caller
) -> None:
    """The smallest network that holds an address counts; what is none is said to be none."""
    access = parsed(address=text)
    assert (access.address, access.caller) == (address, caller)


@pytest.mark.parametrize(
    ("value", "status"),
    [(200, 200), ("206", 206), ("Unknown", 0), ("", 0), (None, 0), (0, 0), (404.0, 404), (-7, 0)],
)
def test_statuses_are_numbers_texts_or_unknown(value: Any, status: int) -> None:
    """What is no status of HTTP is 0."""
    assert parsed(status=value).status == status


def test_numbers_may_be_texts_and_sizes_may_be_empty() -> None:
    """A failed request has no sizes; some exports write every number as a text."""
    access = parsed(
        properties={"responseBodySize": "4096", "requestBodySize": "", "operationCount": "2"}
    )
    assert (access.bytes_out, access.bytes_in, access.operation_count) == (4096, 0, 2)
    odd = parsed(properties={"responseBodySize": "much", "requestBodySize": -5})
    assert (odd.bytes_out, odd.bytes_in, odd.extra["responseBodySize"]) == (0, 0, "much")


@pytest.mark.parametrize(
    "text",
    [
        "6/30/2022 12:07:25 PM",
        "2022-06-30T12:07:25.0000000Z",
        "Thursday, 30-Jun-22 12:07:25 GMT",
        "Thu, 30 Jun 2022 12:07:25 GMT",
        "2022/06/30 12:07:25.9190722",
        "2022-06-30T14:07:25+02:00",
        "1656590845",
        "1656590845000",
    ],
)
def test_times_of_last_change_are_read_in_all_their_forms(text: str) -> None:
    """They become one form; what is none is kept as it came and refuses nothing."""
    assert normalize_time(text) == "2022-06-30T12:07:25Z"
    assert parsed(properties={"lastModifiedTime": text}).extra["lastModified"] == normalize_time(
        text
    )
    assert parsed(properties={"lastModifiedTime": "soon"}).extra["lastModified"] == "soon"


def test_fields_may_lie_flat_or_in_properties_or_be_json_in_a_text() -> None:
    """What Log Analytics, Event Hubs and blobs write says the same."""
    record = storage_record()
    properties = record.pop("properties")
    told = read({**record, "properties": properties})
    assert read({**record, **properties}) == told
    assert read({**record, "properties": json.dumps(properties)}) == told
    identity = record.pop("identity")
    table = {
        **{name[0].upper() + name[1:]: value for name, value in {**record, **properties}.items()},
        "TimeGenerated": record["time"],
        "AuthenticationType": identity["type"],
        "AuthenticationHash": identity["tokenHash"],
        "AuthorizationDetails": json.dumps(identity["authorization"]),
        "RequesterObjectId": PRINCIPAL,
        "RequesterAppId": APPLICATION,
        "RequesterTenantId": TENANT,
        "RequesterAudience": "https://storage.azure.com/",
        "TenantId": "the workspace's",
        "Type": "StorageBlobLogs",
    }
    del table["Time"]
    assert read(table) == told


def test_unknown_fields_are_kept_and_bounded() -> None:
    """What Azure adds tomorrow stands in `extra`; what is too much of it is cut."""
    access = parsed(newField={"a": [1, "x"]}, properties={"more": True}, long="y" * 9999)
    assert access.extra["newField"] == {"a": [1, "x"]}
    assert access.extra["more"] is True
    assert len(access.extra["long"]) == 512
    many = parsed(**{f"field{n}": n for n in range(100)})
    assert many.extra["more"] == 84
    assert len(many.extra) < 20


@pytest.mark.parametrize(
    ("uri", "key", "expected"),
    [
        (
            "https://weightsprod.blob.core.windows.net:443/llama/a%20b/%24x",
            None,
            ("llama", "a b/$x"),
        ),
        ("https://weightsprod.dfs.core.windows.net/llama/dir/f", None, ("llama", "dir/f")),
        ("https://weightsprod.blob.core.windows.net/index.html", None, ("$root", "index.html")),
        (
            "https://weightsprod.blob.core.windows.net/$logs/blob/1.log",
            None,
            ("$logs", "blob/1.log"),
        ),
        ("https://weightsprod-secondary.blob.core.windows.net/llama/s", None, ("llama", "s")),
        ("http://127.0.0.1:10000/weightsprod/llama/s", None, ("llama", "s")),
        (None, "/weightsprod/llama/x", ("llama", "x")),
        (None, "https://weightsprod.blob.core.windows.net/llama/x", ("llama", "x")),
        (
            "https://weightsprod.blob.core.windows.net/llama/a%2520b",
            "/weightsprod/llama/a%20b",
            ("llama", "a%20b"),
        ),
    ],
)
def test_places_are_decoded_once(
    uri: str | None, key: str | None, expected: tuple[str, str]
) -> None:
    """Roots, logs, Data Lake's endpoint, the second region and an emulator are all understood."""
    access = parsed(uri=uri, properties={"objectKey": key or ""})
    assert (access.container, access.blob) == expected


def test_a_container_and_an_account_have_no_blob() -> None:
    """Listing is of the container; its prefix is kept."""
    listed = parsed(
        operation="ListBlobs", blob="", query="restype=container&comp=list&prefix=run-7%2F"
    )
    assert (listed.container, listed.blob, listed.act) == ("llama", "", Act.LIST)
    assert (listed.extra["prefix"], listed.store) == ("run-7/", "llama")
    whole = parsed(operation="ListContainers", container="", blob="")
    assert (whole.container, whole.store) == ("", "llama")


@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_every_documented_operation_has_an_act(name: str) -> None:
    """No operation of the table is OTHER; its case does not matter."""
    access = parsed(operation=name)
    assert access.act is OPERATIONS[name].act is not Act.OTHER
    assert name in SOURCES or access.blob == BLOB
    assert parsed(operation=name.upper()).act is access.act


def test_an_operation_that_nobody_knew_is_kept_without_an_act() -> None:
    """It is counted and shown; nothing is guessed."""
    access = parsed(operation="TeleportBlob")
    assert (access.act, access.operation) == (Act.OTHER, "TeleportBlob")


def test_a_nul_in_a_text_reaches_no_database() -> None:
    """PostgreSQL takes none: a path or a user agent with one must not stop the ingest."""
    access = parsed(blob="a\x00b", properties={"userAgentHeader": "x\x00y"})
    assert "\x00" not in access.blob + access.user_agent
