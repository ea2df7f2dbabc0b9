"""What is read of Azure Resource Manager's responses (Microsoft.Authorization 2022-04-01)."""

from typing import Final

import msgspec

from core.base.errors import EntraError

AUTHORIZATION: Final = "2022-04-01"
STORAGE: Final = "2024-01-01"
DIAGNOSTICS: Final = "2021-05-01-preview"
"""`api-version` of each provider."""


class _Shape(msgspec.Struct, frozen=True, rename="camel"):
    """Fields that are not read are skipped."""


class AssignmentProperties(_Shape, frozen=True):
    """`properties` of a role assignment."""

    role_definition_id: str
    principal_id: str
    scope: str
    principal_type: str | None = None
    condition: str | None = None
    description: str | None = None


class Assignment(_Shape, frozen=True):
    """A role assignment."""

    id: str
    name: str
    properties: AssignmentProperties


class Permission(_Shape, frozen=True):
    """One of a role's permissions."""

    actions: list[str] = []
    not_actions: list[str] = []
    data_actions: list[str] = []
    not_data_actions: list[str] = []


class DefinitionProperties(_Shape, frozen=True):
    """`properties` of a role definition."""

    role_name: str = ""
    permissions: list[Permission] = []


class Definition(_Shape, frozen=True):
    """A role definition."""

    id: str
    properties: DefinitionProperties


class DenyPrincipal(_Shape, frozen=True):
    """Whom a deny assignment is about: everyone where the id is all zeros."""

    id: str


class DenyProperties(_Shape, frozen=True):
    """`properties` of a deny assignment."""

    scope: str = ""
    permissions: list[Permission] = []
    principals: list[DenyPrincipal] = []
    exclude_principals: list[DenyPrincipal] = []
    do_not_apply_to_child_scopes: bool = False


class Denial(_Shape, frozen=True):
    """A deny assignment."""

    id: str
    properties: DenyProperties


class _NetworkRules(_Shape, frozen=True):
    default_action: str = "Allow"


class _Connection(_Shape, frozen=True):
    status: str = ""


class _ConnectionProperties(_Shape, frozen=True):
    private_link_service_connection_state: _Connection = _Connection()


class PrivateConnection(_Shape, frozen=True):
    """A private endpoint's connection."""

    properties: _ConnectionProperties = _ConnectionProperties()


class AccountProperties(_Shape, frozen=True):
    """`properties` of a storage account; what is absent has Azure's own default."""

    allow_shared_key_access: bool | None = None
    allow_blob_public_access: bool | None = None
    public_network_access: str | None = None
    network_acls: _NetworkRules | None = None
    private_endpoint_connections: list[PrivateConnection] | None = None
    is_sftp_enabled: bool | None = None
    is_local_user_enabled: bool | None = None


class Account(_Shape, frozen=True):
    """A storage account."""

    id: str
    properties: AccountProperties


class LogSetting(_Shape, frozen=True):
    """One category of a diagnostic setting."""

    enabled: bool = False
    category: str | None = None
    category_group: str | None = None


class DiagnosticProperties(_Shape, frozen=True):
    """`properties` of a diagnostic setting."""

    storage_account_id: str | None = None
    event_hub_authorization_rule_id: str | None = None
    workspace_id: str | None = None
    logs: list[LogSetting] = []


class Diagnostic(_Shape, frozen=True):
    """A diagnostic setting."""

    properties: DiagnosticProperties


class Page(_Shape, frozen=True):
    """One page of a list."""

    value: list[msgspec.Raw]
    next_link: str | None = None


def read_shape(content: bytes | msgspec.Raw, shape: type, asked: str) -> msgspec.Struct:
    """Read an answer.

    Raises:
        EntraError: it has another shape; its own text is not quoted.
    """
    try:
        found: msgspec.Struct = msgspec.json.decode(content, type=shape)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        text = f"Azure Resource Manager, {asked}: an answer that cannot be read"
        raise EntraError(text, "unreadable") from error
    return found
