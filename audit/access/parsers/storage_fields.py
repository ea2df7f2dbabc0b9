"""The fields of a storage resource log's record, in all the shapes that exports give them. Pure.

Most records have exactly the fields of `StorageFields`, as Azure Monitor writes them to blobs: they
are read in one step. Any other is put into that shape first (flat exports, numbers as texts,
unknown fields, JSON in texts).
"""

from typing import Any, Final

import msgspec

from audit.access.parsers.redaction import scrub_fields
from core.base.errors import UnreadableRecordError

CATEGORIES: Final = {
    name.lower(): name for name in ("StorageRead", "StorageWrite", "StorageDelete")
}
"""By their names in lower case: exports write them in any."""

_TABLE: Final = "storagebloblogs"
_OWN: Final = "objectkey"
"""A field that no other log has."""

LARGEST: Final = (1 << 63) - 1

_LOOSE: Final = msgspec.json.Decoder(dict[str, Any])

_BRANCHES: Final = frozenset({"properties", "identity", "requester", "delegatedResource"})

_IGNORED: Final = frozenset(
    {"sourcesystem", "tenantid", "type", "_billedsize", "_isbillable", "_subscriptionid"}
)
"""Of a Log Analytics table: of the workspace, not of the request."""

_WHOLE: Final = frozenset(
    {"operationCount", "requestBodySize", "responseBodySize", "contentLengthHeader"}
)


class _Fields(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    rename="camel",
    forbid_unknown_fields=True,
    gc=False,
):
    """What a record may have. Those of `Any` are known, and are not kept."""


class Authorization(_Fields, frozen=True, kw_only=True):
    """One of `identity.authorization`."""

    action: str = ""
    deny_assignment_id: str = ""
    principals: list[dict[str, str]] = []
    reason: str = ""
    result: str = ""
    role_assignment_id: str = ""
    role_definition_id: str = ""
    type: str = ""


class Requester(_Fields, frozen=True, kw_only=True):
    """The `requester` of the field `identity`; names of people are left where they are."""

    app_id: str = ""
    audience: str = ""
    object_id: str = ""
    tenant_id: str = ""
    token_issuer: str = ""
    upn: str = ""
    user_name: str = ""
    unique_name: str = ""


class Delegated(_Fields, frozen=True, kw_only=True):
    """`identity.delegatedResource`: on behalf of which Azure resource it was."""

    object_id: str = ""
    resource_id: str = ""
    tenant_id: str = ""


class Identity(_Fields, frozen=True, kw_only=True):
    """`identity`."""

    type: str = ""
    token_hash: str = ""
    authorization: list[Authorization] = []
    requester: Requester | None = None
    delegated_resource: Delegated | None = None


class Properties(_Fields, frozen=True, kw_only=True):
    """`properties`."""

    account_name: str = ""
    user_agent_header: str = ""
    referrer_header: str = ""
    client_request_id: str = ""
    etag: Any = None
    server_latency_ms: Any = None
    service_type: str = ""
    operation_count: int = 0
    request_header_size: Any = None
    request_body_size: int = 0
    response_header_size: Any = None
    response_body_size: int = 0
    request_md5: Any = None
    server_md5: Any = None
    last_modified_time: str = ""
    conditions_used: str = ""
    content_length_header: int = 0
    tls_version: str = ""
    object_key: str = ""
    metric_response_type: str = ""
    source_uri: str = ""
    destination_uri: str = ""
    download_range: str = ""
    access_tier: Any = None
    source_access_tier: Any = None
    rehydrate_priority: Any = None


class StorageFields(_Fields, frozen=True, kw_only=True):
    """A record."""

    time: str
    resource_id: str = ""
    category: str
    operation_name: str
    operation_version: Any = None
    schema_version: Any = None
    status_code: int | str = ""
    status_text: str = ""
    duration_ms: Any = None
    caller_ip_address: str = ""
    correlation_id: str = ""
    location: str = ""
    protocol: Any = None
    uri: str = ""
    resource_type: Any = None
    identity: Identity = Identity()
    properties: Properties = Properties()


_STRICT: Final = msgspec.json.Decoder(StorageFields)

_PARTS: Final[dict[tuple[str, ...], type[msgspec.Struct]]] = {
    (): StorageFields,
    ("properties",): Properties,
    ("identity",): Identity,
    ("identity", "requester"): Requester,
    ("identity", "delegatedResource"): Delegated,
}


def _placed() -> dict[str, tuple[str, ...]]:
    """Return where each field belongs, by its name in lower case; outer parts win."""
    found: dict[str, tuple[str, ...]] = {}
    for path, part in _PARTS.items():
        for field in msgspec.structs.fields(part):
            if field.encode_name not in _BRANCHES:
                found.setdefault(field.encode_name.lower(), (*path, field.encode_name))
    flat = {
        "timegenerated": ("time",),
        "_resourceid": ("resourceId",),
        "requesturl": ("uri",),
        "url": ("uri",),
        "authenticationtype": ("identity", "type"),
        "authenticationhash": ("identity", "tokenHash"),
        "authorizationdetails": ("identity", "authorization"),
        "requesterusername": ("identity", "requester", "userName"),
        "requesteruniquename": ("identity", "requester", "uniqueName"),
        "requestertokenissuer": ("identity", "requester", "tokenIssuer"),
        "copysource": ("properties", "sourceUri"),
    }
    for name in ("appId", "audience", "objectId", "tenantId", "upn"):
        flat[f"requester{name.lower()}"] = ("identity", "requester", name)
    for name in ("objectId", "resourceId", "tenantId"):
        flat[f"delegatedresource{name.lower()}"] = ("identity", "delegatedResource", name)
    return found | flat


_PLACES: Final = _placed()
_WITHIN: Final = {
    path: {field.encode_name.lower(): field.encode_name for field in msgspec.structs.fields(part)}
    for path, part in _PARTS.items()
}


def is_storage(low: dict[str, Any], category: str) -> bool:
    """Return whether a record is of storage's logs: by its category, table or fields.

    `low` is the record, its keys in lower case.
    """
    table = low.get("type")
    named = category.lower().startswith("storage")
    return named or (isinstance(table, str) and table.lower() == _TABLE) or _OWN in low


def fields_or_object(
    raw: bytes | bytearray | memoryview | msgspec.Raw,
) -> StorageFields | dict[str, Any]:
    """Read a record: as what it is where it has the one shape, else as the object that it is.

    Raises:
        UnreadableRecordError: it is no JSON object.
    """
    content = bytes(raw)
    try:
        return _STRICT.decode(content)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        pass
    try:
        return _LOOSE.decode(content)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise UnreadableRecordError("is no JSON object") from None


def fields_from(found: dict[str, Any]) -> tuple[StorageFields, dict[str, Any]]:
    """Put a record of any shape into the one shape.

    Raises:
        UnreadableRecordError: it lacks what every record has.
    """
    shaped: dict[str, Any] = {}
    extra: dict[str, Any] = {}
    _spread(found, (), shaped, extra)
    people = _people(shaped)
    for name in ("time", "category", "operationName"):
        if not shaped.get(name):
            raise UnreadableRecordError("is missing", name)
    try:
        read = msgspec.convert(shaped, StorageFields)
    except (msgspec.ValidationError, RecursionError):
        raise UnreadableRecordError("has a field of another type") from None
    return read, scrub_fields(extra, people)


def _spread(
    found: dict[str, Any], path: tuple[str, ...], shaped: dict[str, Any], extra: dict[str, Any]
) -> None:
    """Put each field where it belongs; those that belong nowhere into `extra`."""
    for key, value in found.items():
        if value is None or value == "":
            continue
        name = key.lower().removesuffix("_s").removesuffix("_d")
        branch = _WITHIN[path].get(name, "")
        if branch in _BRANCHES and (parsed := _object(value)) is not None:
            _spread(parsed, (*path, branch), shaped, extra)
            continue
        place = (*path, branch) if branch and branch not in _BRANCHES else _elsewhere(name, path)
        if place is None:
            if name not in _IGNORED:
                extra.setdefault(key, value)
        elif not _put(shaped, place, value):
            extra.setdefault(key, value)


def _elsewhere(name: str, path: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return the place of a field that does not stand where it belongs."""
    if not path and name in {"tenantid", "type", "objectid"}:
        return None
    return _PLACES.get(name) if len(path) < 2 else None  # noqa: PLR2004  Below identity's parts.


def _put(shaped: dict[str, Any], place: tuple[str, ...], value: Any) -> bool:
    """Put a value in its place as the type that belongs there; say whether it is of one."""
    *branches, name = place
    for branch in branches:
        shaped = shaped.setdefault(branch, {})
    if name in shaped:
        return True
    typed = _typed(name, value)
    if typed is None:
        return False
    shaped[name] = typed
    return True


def _typed(name: str, value: Any) -> Any:
    if name == "authorization":
        return _authorizations(value)
    if name in _WHOLE:
        return _whole(value)
    if name == "statusCode":
        return value if isinstance(value, str) else _whole(value)
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int | float) else None


def _whole(value: Any) -> int | None:
    """Return a count or size, from a number or its text."""
    try:
        number = int(value) if isinstance(value, int | float | str) else -1
    except (ValueError, OverflowError):
        return None
    return number if 0 <= number <= LARGEST else None


def _object(value: Any) -> dict[str, Any] | None:
    """Return an object, also one that is written as JSON in a text."""
    if isinstance(value, str) and value.lstrip()[:1] in {"{", "["}:
        try:
            value = msgspec.json.decode(value)
        except (msgspec.MsgspecError, UnicodeError, RecursionError):
            return None
    return value if isinstance(value, dict) else None


def _authorizations(value: Any) -> list[Any] | None:
    if isinstance(value, str):
        try:
            value = msgspec.json.decode(value)
        except (msgspec.MsgspecError, UnicodeError, RecursionError):
            return None
    if isinstance(value, dict):
        value = [value]
    if not isinstance(value, list):
        return None
    return [_authorization(one) for one in value if isinstance(one, dict)]


_AUTHORIZATION: Final = {
    field.encode_name.lower(): field.encode_name for field in msgspec.structs.fields(Authorization)
}


def _authorization(found: dict[str, Any]) -> dict[str, Any]:
    shaped: dict[str, Any] = {}
    for key, value in found.items():
        name = _AUTHORIZATION.get(key.lower())
        if name == "principals":
            items = value if isinstance(value, list) else [value]
            shaped[name] = [_texts(one) for one in items if isinstance(one, dict)]
        elif name and isinstance(value, str):
            shaped[name] = value
    return shaped


def _texts(found: dict[str, Any]) -> dict[str, str]:
    return {name: value for name, value in found.items() if isinstance(value, str)}


def _people(shaped: dict[str, Any]) -> frozenset[str]:
    asked = shaped.get("identity", {}).get("requester", {})
    names = (asked.get(name, "") for name in ("upn", "userName", "uniqueName"))
    return frozenset(name for name in names if name)
