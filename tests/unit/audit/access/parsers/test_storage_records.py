"""Records as Azure writes them become accesses."""

from typing import Any

import pytest

from audit.access.model.azure_scanners import SCANNER_ROLE
from core.base.errors import UnreadableRecordError
from core.weights.documents.access import Act, Caller, SignedBy, decode_access, encode_access
from tests.harness.worlds.storage_logs import (
    ADDRESS,
    AGENT,
    APPLICATION,
    BLOB,
    PRINCIPAL,
    ROLE_ASSIGNMENT,
    TENANT,
    encoded,
    identity,
    lines,
    storage_record,
)
from tests.unit.audit.access.parsers.stores import line_read, parsed, read


def test_a_read_with_a_token_says_who_read_what_from_where() -> None:
    """Every field of the document is filled from the record's own."""
    access = parsed(bytes_out=1 << 33)
    assert (access.account, access.container, access.blob) == ("weightsprod", "llama", BLOB)
    assert (access.store, access.operation, access.act) == ("llama", "GetBlob", Act.READ)
    assert (access.principal, access.application, access.tenant) == (PRINCIPAL, APPLICATION, TENANT)
    assert (access.signed_by, access.grants) == (SignedBy.OAUTH, [ROLE_ASSIGNMENT])
    assert (access.address, access.caller) == (ADDRESS, Caller.NODE)
    assert (access.bytes_out, access.status, access.user_agent) == (1 << 33, 200, AGENT)
    assert access.time == "2026-05-01T09:00:00.000Z"
    assert access.extra == {"lastModified": "2022-06-30T12:07:25Z"}
    assert decode_access(encode_access(access)) == access


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("OAuth", SignedBy.OAUTH),
        ("AccountKey", SignedBy.ACCOUNT_KEY),
        ("Account Key", SignedBy.ACCOUNT_KEY),
        ("SAS", SignedBy.SAS),
        ("SAS Key", SignedBy.SAS),
        ("DelegationSas", SignedBy.DELEGATION_SAS),
        ("Anonymous", SignedBy.ANONYMOUS),
        ("Kerberos", SignedBy.KERBEROS),
        ("TrustedAccess", SignedBy.UNKNOWN),
    ],
)
def test_each_identity_type_is_told_in_both_spellings(kind: str, expected: SignedBy) -> None:
    """The documentation's and the records' spelling mean the same; another keeps its word."""
    access = parsed(signed_by=kind)
    assert access.signed_by is expected
    assert ("identityType" in access.extra) == (expected is SignedBy.UNKNOWN)


def test_keys_and_signatures_are_told_apart_and_open_nothing() -> None:
    """Two SAS of one key differ, and both tell the key."""
    key = "4C81DD1772CEA6215A976B5B9C0764F519518B179BA3C7257C7E745D337833E6"
    first, second = (
        {"type": "SAS", "tokenHash": f"key1({key}),SasSignature({each * 32})"}
        for each in ("AB", "CD")
    )
    assert parsed(identity=first).token == "abababababababab:key1:4c81dd1772cea621"
    assert parsed(identity=second).token == "cdcdcdcdcdcdcdcd:key1:4c81dd1772cea621"
    assert parsed(signed_by="AccountKey").token.startswith("key1:")
    assert parsed(identity=first).who != parsed(identity=second).who


def test_a_delegation_sas_is_its_delegators() -> None:
    """Who had the key issued is named, and nobody is taken to have proved who they are."""
    query = f"skoid={PRINCIPAL.upper()}&sktid={TENANT}&sp=r&sig=secret"
    sas = {"type": "SAS", "tokenHash": f"SasSignature({'AB' * 32})"}
    access = parsed(identity=sas, query=query)
    assert (access.signed_by, access.delegator) == (SignedBy.DELEGATION_SAS, PRINCIPAL)
    assert parsed(signed_by="DelegationSas").principal == ""
    keyed = {"type": "SAS", "tokenHash": f"key1({'AB' * 32}),SasSignature({'CD' * 32})"}
    assert parsed(identity=keyed, query=query).signed_by is SignedBy.SAS


def test_a_copy_has_three_records_of_one_correlation() -> None:
    """Each has an id; the source's place is what is read, in whatever account it lies."""
    copies = [
        storage_record(operation=name, blob="copy.bin", properties={"operationCount": number})
        for number, name in enumerate(("CopyBlob", "CopyBlobSource", "CopyBlobDestination"))
    ]
    copies[1]["uri"] = f"https://weightsprod.blob.core.windows.net:443/llama/{BLOB}"
    begun, source, ended = map(read, copies)
    assert len({begun.id, source.id, ended.id}) == 3
    assert begun.correlation == source.correlation == ended.correlation
    assert (source.blob, source.copy_source) == (BLOB, f"weightsprod/llama/{BLOB}")
    assert (source.act, source.store) == (Act.COPY, "llama")
    copies[1]["uri"] = "https://elsewhere.blob.core.windows.net/theirs/a.bin"
    away = read(copies[1])
    assert (away.copy_source, away.container, away.store) == ("elsewhere/theirs/a.bin", "", "")


def test_a_copy_out_of_a_store_into_another_account_is_of_the_store() -> None:
    """The target's log has the source's uri: that weights were read there is seen."""
    record = storage_record(operation="CopyBlobSource", account="elsewhere", container="theirs")
    record["uri"] = f"https://weightsprod.blob.core.windows.net/llama/{BLOB}"
    access = read(record)
    assert (access.account, access.store) == ("elsewhere", "llama")


def test_the_same_record_has_the_same_id_whatever_it_came_by() -> None:
    """Field order, source and the shape of the export do not matter."""
    record = storage_record()
    flat = {**{k: v for k, v in record.items() if k != "properties"}, **record["properties"]}
    other = line_read(encoded(flat), "elsewhere")
    assert other.id == read(record).id
    assert read(storage_record(operation="GetBlobProperties")).id != other.id


def test_the_parts_of_a_batch_are_not_taken_for_duplicates() -> None:
    """A batch that deletes 256 blobs under one correlation is 256 accesses."""
    batch = {
        read(storage_record(operation="DeleteBlob", blob=f"{n}.bin", correlationId="c")).id
        for n in range(256)
    }
    assert len(batch) == 256


def test_without_a_correlation_the_record_itself_tells_it_apart() -> None:
    """Two records that differ anywhere have two ids; the same one has one."""
    one, two = (storage_record(correlationId=None, durationMs=n) for n in (1, 2))
    assert read(one).id == read(dict(one)).id != read(two).id


@pytest.mark.parametrize(
    ("field", "value", "named"),
    [
        ("time", "yesterday", "time"),
        ("time", "0001-01-01T00:00:00.0000000Z", "time"),
        ("time", "9999-12-31T23:59:59.9999999Z", "time"),
        ("time", None, "time"),
        ("operationName", None, "operationName"),
        ("category", "Transaction", "category"),
        ("category", None, "category"),
    ],
)
def test_a_record_that_lacks_what_every_record_has_is_refused(
    field: str, value: Any, named: str
) -> None:
    """The error names the field, and quotes nothing."""
    with pytest.raises(UnreadableRecordError) as caught:
        parsed(**{field: value})
    assert caught.value.field == named
    assert str(value) not in str(caught.value)


def test_an_account_that_nothing_names_is_refused() -> None:
    """Without an account nobody can say whose weights they are."""
    with pytest.raises(UnreadableRecordError, match=r"properties\.accountName"):
        parsed(properties={"accountName": ""}, resourceId=None)


def test_what_was_refused_or_granted_to_a_group_is_kept() -> None:
    """A deny assignment is named; so is the group through which a right came."""
    told = identity()
    told["authorization"][0] |= {
        "result": "Denied",
        "reason": "NoApplicablePolicy",
        "principals": [{"id": "0D000000-0000-4000-8000-000000000009", "type": "Group"}],
    }
    access = parsed(identity=told, status=403)
    assert access.extra["denied"] == "Denied NoApplicablePolicy"
    assert access.extra["through"] == ["Group 0d000000-0000-4000-8000-000000000009"]
    assert not access.succeeded


@pytest.mark.parametrize(("result", "role"), [("Granted", SCANNER_ROLE), ("Denied", None)])
def test_the_role_of_defenders_scanner_is_kept_where_it_let_it_in(
    result: str, role: str | None
) -> None:
    """Azure's own role for it, and no other."""
    told = identity()
    assert "role" not in parsed(identity=told).extra
    told["authorization"][0] |= {"roleDefinitionId": SCANNER_ROLE.upper(), "result": result}
    assert parsed(identity=told).extra.get("role") == role


def test_generated_lines_are_records_and_none_comes_twice() -> None:
    """The generator's records parse, keep time's order, and have one id each."""
    accesses = [line_read(line) for line in lines(2000, seed=7)]
    assert len({access.id for access in accesses}) == 2000
    assert [access.time for access in accesses] == sorted(access.time for access in accesses)
    assert {access.act for access in accesses} == {Act.READ, Act.LIST, Act.WRITE, Act.DELETE}
