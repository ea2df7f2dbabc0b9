"""Every way in which exports were seen to write a field is read as the same."""

import json
from typing import Any

import pytest

from audit.access.parsers.log_times import normalize_time
from audit.access.parsers.operations import OPERATIONS, SOURCES
from core.base.errors import UnreadableRecordError
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
        "6/30/2022 12:07:25 PM +00:00",
        "6/30/2022 2:07:25 PM +02:00",
        "6/30/2022 6:37:25 AM -05:30",
        "06/30/2022 12:07:25 +00:00",
        "6/30/2022 12:07:25.123 PM",
        "6/30/2022, 12:07:25.123 PM",
        "6/30/2022 12:07:25\N{NARROW NO-BREAK SPACE}PM",
        "6/30/2022 12:07:25\N{NARROW NO-BREAK SPACE}PM +00:00",
        "6/30/2022 12:07:25 PM UTC",
        "2022-06-30 12:07:25 UTC",
        "2022-06-30 12:07:25Z",
        "/Date(1656590845000)/",
        "\\/Date(1656590845000+0200)\\/",
    ],
)
def test_times_of_last_change_are_read_in_all_their_forms(text: str) -> None:
    """They become one form; what is none is kept as it came and refuses nothing."""
    assert normalize_time(text) == "2022-06-30T12:07:25Z"
    assert parsed(properties={"lastModifiedTime": text}).extra["lastModified"] == normalize_time(
        text
    )
    assert parsed(properties={"lastModifiedTime": "soon"}).extra["lastModified"] == "soon"


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("11/1/2026 9:05:06 AM", "2026-11-01T09:05:06.000Z"),
        ("11/1/2026 12:05:06 AM +00:00", "2026-11-01T00:05:06.000Z"),
        ("11/1/2026 9:05:06 PM +01:00", "2026-11-01T20:05:06.000Z"),
        ("11/1/2026, 9:05:06.789 PM", "2026-11-01T21:05:06.789Z"),
        ("11/1/2026 9:05 PM", "2026-11-01T21:05:00.000Z"),
        ("2026-11-01T9:05:06.7890123Z", "2026-11-01T09:05:06.789Z"),
        ("2026-11-01T09:05:06.7890123+00:00", "2026-11-01T09:05:06.789Z"),
        ("2026-11-01T23:05:06-0230", "2026-11-02T01:35:06.000Z"),
    ],
)
def test_the_time_of_a_record_is_read_in_all_the_forms_of_exports(text: str, time: str) -> None:
    """US dates with AM and PM, an offset or a fraction among them: month first, and UTC."""
    assert parsed(time=text).time == time


@pytest.mark.parametrize(
    "text", ["13/11/2026 9:05:06 AM", "11/1/2026 13:05:06 PM +99:00", "11/1/26"]
)
def test_what_is_no_time_is_refused(text: str) -> None:
    """Of a day that stands first nobody knows the month."""
    with pytest.raises(UnreadableRecordError, match="time"):
        parsed(time=text)


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


HOST = "https://weightsprod.blob.core.windows.net"


@pytest.mark.parametrize(
    ("uri", "key", "expected"),
    [
        (f"{HOST}/llama/./s", None, ("llama", "s")),
        (f"{HOST}/llama/%2E%2Fs", None, ("llama", "s")),
        (f"{HOST}/llama/.%2Fs", None, ("llama", "s")),
        (f"{HOST}/other/../llama/s", None, ("llama", "s")),
        (f"{HOST}/other/%2e%2e/llama/s", None, ("llama", "s")),
        (f"{HOST}/other/..%2Fllama%2Fs", None, ("llama", "s")),
        (f"{HOST}/../../llama/s", None, ("llama", "s")),
        (f"{HOST}/llama/a%5Cs", None, ("llama", "a/s")),
        (f"{HOST}/llama%2Fa%2Fs", None, ("llama", "a/s")),
        (f"{HOST}//llama/s", None, ("llama", "s")),
        (f"{HOST}/llama/a//s", None, ("llama", "a//s")),
        (f"{HOST}/llama/a/b/..", None, ("llama", "a/")),
        (f"{HOST}/llama/...", None, ("llama", "...")),
        (f"{HOST}/llama/a..b/.s", None, ("llama", "a..b/.s")),
        (None, "/weightsprod/other/../llama/s", ("llama", "s")),
        (None, "/weightsprod/llama/./s", ("llama", "s")),
        (None, "/weightsprod//llama/s", ("llama", "s")),
        (None, "/weightsprod/llama\\s", ("llama", "s")),
    ],
)
def test_paths_are_resolved_as_storage_resolves_them(
    uri: str | None, key: str | None, expected: tuple[str, str]
) -> None:
    """No spelling of a path hides whose weights were read."""
    access = parsed(uri=uri, properties={"objectKey": key or ""})
    assert (access.container, access.blob, access.store) == (*expected, "llama")


@pytest.mark.parametrize(
    ("key", "uri", "container"),
    [
        ("/weightsprod/llama", "", "llama"),
        ("/weightsprod/llama", f"{HOST}/llama?restype=container&comp=new", "llama"),
        ("", f"{HOST}/llama?restype=Container", "llama"),
        ("/weightsprod/llama/run-7", "", "llama"),
        ("/weightsprod", f"{HOST}/?comp=new", ""),
    ],
)
def test_an_operation_that_nobody_knew_is_of_the_store_that_its_path_names(
    key: str, uri: str, container: str
) -> None:
    """On a container, on a folder, or on all of the account."""
    access = parsed(operation="PurgeContainer", uri=uri, properties={"objectKey": key})
    assert (access.act, access.container, access.store) == (Act.OTHER, container, "llama")


def test_a_known_operation_whose_query_says_container_is_of_one() -> None:
    """A container is no blob of the root."""
    uri = f"{HOST}/llama?restype=container&comp=lease"
    access = parsed(operation="LeaseBlob", uri=uri, properties={"objectKey": "/weightsprod/llama"})
    assert (access.container, access.blob, access.store) == ("llama", "", "llama")


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
