"""The fields of a storage resource log's record, as Azure Monitor writes it to blobs. Pure."""

from typing import Any, Final

import msgspec

CATEGORIES: Final = frozenset({"StorageRead", "StorageWrite", "StorageDelete"})

LARGEST: Final = (1 << 63) - 1


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
    """`identity.requester_note`; names of people are left where they are."""

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


class Fields(_Fields, frozen=True, kw_only=True):
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
