"""What a role of Kubernetes' RBAC allows (k8s.io/api/rbac/v1 PolicyRule)."""

import msgspec


class RoleRule(
    msgspec.Struct,
    frozen=True,
    rename={
        "api_groups": "apiGroups",
        "resource_names": "resourceNames",
        "non_resource_urls": "nonResourceURLs",
    },
):
    """One rule of a role: these verbs on these resources, or on these paths."""

    verbs: list[str] | None = None
    api_groups: list[str] | None = None
    resources: list[str] | None = None
    resource_names: list[str] | None = None
    non_resource_urls: list[str] | None = None


class RoleReference(msgspec.Struct, frozen=True):
    """The role that a binding gives."""

    kind: str = ""
    name: str = ""
