"""`spec.defaults` of a ContainerProfile: fields that are filled in where a Pod leaves them out.

None can make an object need more than it needs without them. Who a container runs as is filled in
only from the IDs that an operator gives a namespace (docs/adr/0026, 0063).
"""

from typing import Annotated, Any, Final, Literal

import msgspec

from core.base.errors import InvalidObjectError
from core.kubernetes.pod import NO_DEVICE, READ_BY_TOOLKITS, VISIBLE


class _Struct(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """As written in YAML."""


class DefaultVariable(_Struct, frozen=True):
    """An environment variable that is set in containers that do not set it themselves."""

    name: Annotated[str, msgspec.Meta(min_length=1, max_length=253)]
    value: Annotated[str, msgspec.Meta(max_length=1024)] = ""
    without_resources: Annotated[
        list[Annotated[str, msgspec.Meta(min_length=1, max_length=253)]],
        msgspec.Meta(max_length=16),
    ] = []


class DefaultSeccompProfile(_Struct, frozen=True):
    """The one that every container runtime has: a file of a node may be missing there."""

    type: Literal["RuntimeDefault"]


class DefaultCapabilities(_Struct, frozen=True):
    """Capabilities that are dropped where a container drops none."""

    drop: Annotated[
        list[Annotated[str, msgspec.Meta(pattern=r"^[A-Z][A-Z0-9_]*\Z", max_length=63)]],
        msgspec.Meta(min_length=1, max_length=64),
    ]


NamespaceId = Literal[
    "runAsUser", "runAsGroup", "fsGroup", "supplementalGroups", "supplementalGroupsPolicy"
]
"""A field of a Pod's `securityContext` that can be filled in from the IDs of its namespace."""


class Defaults(_Struct, frozen=True):
    """Fields that are filled in where they are absent; the CRD says what each means."""

    seccomp_profile: DefaultSeccompProfile | None = None
    capabilities: DefaultCapabilities | None = None
    allow_privilege_escalation: bool | None = None
    automount_service_account_token: bool | None = None
    env: Annotated[list[DefaultVariable], msgspec.Meta(max_length=16)] = []
    namespace_ids: Annotated[list[NamespaceId], msgspec.Meta(max_length=5)] = []


NO_DEFAULTS: Final = Defaults()


def validate_defaults(defaults: Defaults, what: str) -> None:
    """Refuse defaults that would give something instead of taking it away.

    Raises:
        InvalidObjectError: with the field's path. The CRD's rules refuse the same.
    """
    for name, value in (
        ("allowPrivilegeEscalation", defaults.allow_privilege_escalation),
        ("automountServiceAccountToken", defaults.automount_service_account_token),
    ):
        if value:
            raise InvalidObjectError(what, f"spec.defaults.{name}", "must be false, or absent")
    if len(set(defaults.namespace_ids)) != len(defaults.namespace_ids):
        raise InvalidObjectError(what, "spec.defaults.namespaceIds", "names a field twice")
    for index, variable in enumerate(defaults.env):
        asks = variable.name in READ_BY_TOOLKITS or variable.name.endswith(VISIBLE)
        if asks and variable.value not in NO_DEVICE:
            message = f"{variable.name} asks for devices: its value must be void, none or empty"
            raise InvalidObjectError(what, f"spec.defaults.env[{index}].value", message)


def normalize_defaults(written: Any) -> Any:
    """Write defaults as kube-apiserver stores them: no null in an optional field."""
    if not isinstance(written, dict):
        return written
    kept = _without_nulls(written, "env", "namespaceIds")
    if isinstance(env := kept.get("env"), list):
        kept["env"] = [_without_nulls(each, "value", "withoutResources") for each in env]
    return kept


def _without_nulls(written: Any, *optional: str) -> Any:
    if not isinstance(written, dict):
        return written
    return {
        key: value for key, value in written.items() if key not in optional or value is not None
    }
