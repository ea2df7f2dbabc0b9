"""Reads a record of Azure Storage's resource logs into an `Access`, and who signed it. Pure.

What a record says and an `Access` has no field for is in `extra`: what this release does not know,
and of what it knows `lastModified`, `range`, `conditions`, `denied`, `through`, `protocol`,
`referrer`, `tier` (of a SetBlobTier), `identityType`, `statusCode`, `copyTarget`, `onBehalfOf`,
`audience`, and the names that `storage_paths.QUERY` gives to parts of a query. Known and left are
digests, ETags, sizes of headers, latencies and versions. Names of people and signatures are never
kept.
"""

import re
from hashlib import sha256
from typing import Any, Final

import msgspec

from audit.access.model.azure_scanners import SCANNER_ROLE
from audit.access.parsers.caller_networks import CallerLocator
from audit.access.parsers.log_times import normalize_time, parse_log_time
from audit.access.parsers.operations import SOURCES, OperationLevel, find_operation
from audit.access.parsers.redaction import NUL, PERSON, scrub, scrub_document
from audit.access.parsers.storage_fields import CATEGORIES, Identity, StorageFields
from audit.access.parsers.storage_paths import (
    StoragePlace,
    account_of,
    place_of,
    query_of,
    uri_place,
)
from audit.access.parsers.store_index import WeightStores
from core.base.errors import UnreadableRecordError
from core.weights.documents.access import FORMAT, Access, SignedBy, access_id

Raw = bytes | bytearray | memoryview | msgspec.Raw

_TYPES: Final = {
    "oauth": SignedBy.OAUTH,
    "bearer": SignedBy.OAUTH,
    "accountkey": SignedBy.ACCOUNT_KEY,
    "sharedkey": SignedBy.ACCOUNT_KEY,
    "authenticated": SignedBy.ACCOUNT_KEY,
    "sas": SignedBy.SAS,
    "saskey": SignedBy.SAS,
    "delegationsas": SignedBy.DELEGATION_SAS,
    "userdelegationsas": SignedBy.DELEGATION_SAS,
    "sasuserdelegation": SignedBy.DELEGATION_SAS,
    "anonymous": SignedBy.ANONYMOUS,
    "kerberos": SignedBy.KERBEROS,
}
"""`identity.type` in lower case and without what stands between its words. `authenticated` and
`bearer` are those of Storage Analytics."""

_BETWEEN: Final = re.compile(r"[^a-z0-9]")

_HASHES: Final = re.compile(r"(key[12]|SasSignature)\(([0-9A-Za-z]{8,128})\)", re.IGNORECASE)

_SETS_TIER: Final = "SetBlobTier"

_BELOW: Final = frozenset({OperationLevel.FOLDER, OperationLevel.UNKNOWN})
"""What is about all that lies below a path."""

_FULL: Final = 32
_SHORT: Final = 16
_ID: Final = 36

_MOST_WORD: Final = 128
_MOST_AGENT: Final = 512
_MOST_GRANTS: Final = 16
_AUDIENCES: Final = ("", "https://storage.azure.com/", "https://storage.azure.com")
_STATUSES: Final = 1000


def find_signature_kind(fields: StorageFields, query: dict[str, str]) -> SignedBy:
    """Say what signed a request.

    A SAS whose query names a delegator (`skoid` is part of what is signed) is a delegation SAS,
    unless its hash says that an account's key signed it. Older records have no type: the word of
    success tells it.
    """
    word = fields.identity.type
    kind = _TYPES.get(word.lower()) or _TYPES.get(_BETWEEN.sub("", word.lower()))
    if kind is None:
        text = f"{fields.properties.metric_response_type or fields.status_text}"
        kind = SignedBy.UNKNOWN
        if not word and text.startswith("Anonymous"):
            kind = SignedBy.ANONYMOUS
        elif not word and text.upper().startswith("SAS"):
            kind = SignedBy.SAS
        elif not word and text.startswith("OAuth"):
            kind = SignedBy.OAUTH
    if kind is SignedBy.SAS and "delegator" in query and not _keyed(fields.identity.token_hash):
        return SignedBy.DELEGATION_SAS
    return kind


def find_signer(kind: SignedBy, query: dict[str, str], principal: str) -> str:
    """Name who had the key of a delegation SAS issued: nobody proved to be them now."""
    if kind is not SignedBy.DELEGATION_SAS:
        return ""
    return (query.get("delegator") or principal).lower()[:_ID]


def credential_text(token_hash: str) -> str:
    """Shorten `tokenHash` to what tells tokens, keys and SAS apart, lower case.

    Of a token its first 32 digits; of a key `key1:` and 16; of a SAS 16 of its own, `:key1:`, and
    16 of the key that signed it.
    """
    if "(" not in token_hash:
        return token_hash[:_FULL].lower()
    found = {name.lower(): digest.lower()[:_SHORT] for name, digest in _HASHES.findall(token_hash)}
    own = found.pop("sassignature", "")
    keys = [f"{name}:{digest}" for name, digest in found.items()]
    return ":".join([own, *keys] if own else keys)


def _keyed(token_hash: str) -> bool:
    return token_hash[:4].lower() in {"key1", "key2"}


class StorageContext(msgspec.Struct, frozen=True, gc=False):
    """What is the same for every record of a source."""

    cluster: str
    source: str
    stores: WeightStores
    callers: CallerLocator


def access_of(
    fields: StorageFields, extra: dict[str, Any], raw: Raw, reading: StorageContext
) -> Access:
    """Return the access of a record that was read; `extra` is what it has besides, and is taken.

    Raises:
        UnreadableRecordError: it is none; with the reason and the field, and nothing of the record.
    """
    category = CATEGORIES.get(fields.category.lower())
    if category is None:
        raise UnreadableRecordError(
            "is not of StorageRead, StorageWrite, StorageDelete", "category"
        )
    unix_ms, time = parse_log_time(fields.time)
    properties, identity = fields.properties, fields.identity
    account = properties.account_name.lower() or account_of(fields.resource_id)
    if not account:
        raise UnreadableRecordError("names no storage account", "properties.accountName")
    name = fields.operation_name
    row = find_operation(name)
    place, copied = _places(fields, account, row.level, extra)
    query = query_of(fields.uri) if "?" in fields.uri else {}
    kind = find_signature_kind(fields, query)
    asked = identity.requester
    principal = asked.object_id.lower() if asked else ""
    delegator = find_signer(kind, query, principal)
    address, caller = reading.callers.of(fields.caller_ip_address)
    _note(fields, extra, query, kind=kind, address=address)
    service = properties.service_type.lower() or "blob"
    correlation = fields.correlation_id[:_MOST_WORD]
    told = correlation or sha256(bytes(raw)).hexdigest()
    where = f"{account}/{service}/{category}/{name}/{properties.object_key}"
    access = Access(
        format=FORMAT,
        id=access_id(unix_ms, where, told, properties.operation_count),
        time=time,
        cluster=reading.cluster,
        account=account[:_MOST_WORD],
        container=place.container,
        blob=place.blob,
        store=_store(reading.stores, place, copied, row.level),
        operation=name[:_MOST_WORD],
        act=row.act,
        status=_status(fields.status_code),
        status_text=scrub(fields.status_text)[:_MOST_WORD],
        signed_by=kind,
        principal="" if principal == delegator else principal[:_MOST_WORD],
        application=asked.app_id.lower()[:_MOST_WORD] if asked else "",
        tenant=asked.tenant_id.lower()[:_MOST_WORD] if asked else "",
        delegator=delegator,
        token=credential_text(identity.token_hash),
        grants=_grants(identity),
        address=address,
        caller=caller,
        user_agent=_unnamed(properties.user_agent_header, identity)[:_MOST_AGENT],
        bytes_out=max(properties.response_body_size, 0),
        bytes_in=max(properties.request_body_size, 0),
        size=max(properties.content_length_header, 0),
        correlation=correlation,
        operation_count=properties.operation_count,
        copy_source=copied.text if copied else "",
        client_request=_unnamed(properties.client_request_id, identity)[:_MOST_WORD],
        object_key=_key(properties.object_key, place),
        service=service[:_MOST_WORD],
        region=fields.location[:_MOST_WORD],
        tls=properties.tls_version[:_MOST_WORD],
        extra=extra,
        source=reading.source,
    )
    return scrub_document(access, "blob", "copy_source") if _is_odd(access) else access


def _is_odd(access: Access) -> bool:
    """Return whether a word that storage itself writes holds what it never does."""
    words = (
        f"{access.operation}{access.account}{access.container}{access.principal}{access.service}"
        f"{access.application}{access.tenant}{access.delegator}{access.token}{access.region}"
        f"{access.correlation}{access.tls}{''.join(access.grants)}{access.extra or ''}"
    )
    return "@" in words or NUL in words


def _places(
    fields: StorageFields, account: str, level: OperationLevel, extra: dict[str, Any]
) -> tuple[StoragePlace, StoragePlace | None]:
    """Return where the request went, and what a copy read.

    The uri of a CopyBlobSource is of what is copied, in whatever account: where it is another one,
    nothing of this account was read.
    """
    properties = fields.properties
    if properties.destination_uri:
        extra["copyTarget"] = uri_place(properties.destination_uri).text
    if fields.operation_name in SOURCES and fields.uri:
        source = uri_place(fields.uri, account)
        return source if source.account == account else StoragePlace(account), source
    copied = uri_place(properties.source_uri) if properties.source_uri else None
    return place_of(account, properties.object_key, fields.uri, level), copied


def _store(
    stores: WeightStores, place: StoragePlace, copied: StoragePlace | None, level: OperationLevel
) -> str:
    find = stores.find_below if level in _BELOW else stores.find
    if copied is None:
        return find(place.account, place.container, place.blob)
    return (find(*place) if place.container else "") or find(*copied)


def _key(key: str, place: StoragePlace) -> str:
    """Return `objectKey` where it says more than the place."""
    return "" if key == f"/{place.text}" else scrub(key)[:_MOST_AGENT]


def _status(value: int | str) -> int:
    """Return HTTP's status; 0 for `Unknown`, and for codes that are not HTTP's."""
    if isinstance(value, str):
        value = int(value) if value.isascii() and value.isdigit() and len(value) == 3 else 0  # noqa: PLR2004  HTTP
    return value if 0 <= value < _STATUSES else 0


def _grants(identity: Identity) -> list[str]:
    return [
        one.role_assignment_id.lower()[:_MOST_WORD]
        for one in identity.authorization[:_MOST_GRANTS]
        if one.role_assignment_id
    ]


def _unnamed(text: str, identity: Identity) -> str:
    """Return a text of the caller's without signatures and without the names of the requester."""
    asked = identity.requester
    if asked is not None and (asked.upn or asked.user_name or asked.unique_name):
        for name in (asked.upn, asked.user_name, asked.unique_name):
            if name:
                text = text.replace(name, PERSON)
    return scrub(text)


def _note(
    fields: StorageFields,
    extra: dict[str, Any],
    query: dict[str, str],
    *,
    kind: SignedBy,
    address: str,
) -> None:
    """Put into `extra` what the document has no field for."""
    properties, identity = fields.properties, fields.identity
    if query:
        extra.update(query)
    if properties.last_modified_time:
        extra["lastModified"] = normalize_time(properties.last_modified_time)
    if fields.operation_name == _SETS_TIER and isinstance(properties.access_tier, str):
        extra["tier"] = properties.access_tier[:_MOST_WORD]
    if properties.referrer_header:
        extra["referrer"] = uri_place(properties.referrer_header).account
    if identity.delegated_resource is not None:
        extra["onBehalfOf"] = identity.delegated_resource.resource_id.lower()[:_MOST_AGENT]
    audience = identity.requester.audience if identity.requester else ""
    odd = (
        ("range", properties.download_range),
        ("conditions", properties.conditions_used),
        ("protocol", "" if fields.protocol == "HTTPS" else fields.protocol),
        ("statusCode", _odd_status(fields.status_code)),
        ("identityType", identity.type if kind is SignedBy.UNKNOWN else ""),
        ("callerIpAddress", "" if address else fields.caller_ip_address),
        ("audience", "" if audience in _AUDIENCES else audience),
    )
    for name, value in odd:
        if value:
            extra[name] = scrub(str(value))[:_MOST_AGENT]
    if identity.authorization:
        _note_authorization(identity, extra)


def _odd_status(value: int | str) -> str:
    return value if isinstance(value, str) and not _status(value) else ""


def _note_authorization(identity: Identity, extra: dict[str, Any]) -> None:
    """Say who was granted the right where it was not the requester, and what was refused."""
    asked = identity.requester.object_id if identity.requester else ""
    through: list[str] = []
    for one in identity.authorization[:_MOST_GRANTS]:
        if one.result and one.result != "Granted":
            extra["denied"] = f"{one.result} {one.reason} {one.deny_assignment_id}"[
                :_MOST_WORD
            ].strip()
        if one.result == "Granted" and one.role_definition_id.lower() == SCANNER_ROLE:
            extra["role"] = SCANNER_ROLE
        for who in one.principals[:_MOST_GRANTS]:
            held = who.get("id", "")
            if held and held != asked:
                through.append(f"{who.get('type', '')} {held.lower()}"[:_MOST_WORD].strip())
    if through:
        extra["through"] = through[:_MOST_GRANTS]
