"""Who may create Pods, or what carries them, by RBAC as it is. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal

from cli.preflight.cluster.model import PodAuthor

_CARRIERS: Final = frozenset(
    {
        "pods",
        "deployments",
        "statefulsets",
        "daemonsets",
        "replicasets",
        "replicationcontrollers",
        "jobs",
        "cronjobs",
        "*",
    }
)
_GROUPS: Final = frozenset({"", "apps", "batch", "*"})
_OWN: Final = "kube-system"
"""Accounts of the cluster's own controllers are not listed."""
_OWN_GROUPS: Final = frozenset({"system:masters", "system:nodes", f"system:serviceaccounts:{_OWN}"})
_CLUSTER_USERS: Final = (
    "system:kube-controller-manager",
    "system:kube-scheduler",
    "system:apiserver",
    "system:node:",
    f"system:serviceaccount:{_OWN}:",
)
"""Users of the cluster's own processes. All other names, such as `system:anonymous` and the group
`system:authenticated`, may be anybody."""

_ALL: Final = "system:"

Key = tuple[str, str, str]
"""Kind, namespace and name of a subject."""


def find_authors(
    roles: Iterable[Mapping[str, Any]], bindings: Iterable[Mapping[str, Any]]
) -> tuple[list[PodAuthor], int]:
    """Return groups and service accounts, and how many users; roles of both scopes together."""
    giving = {_key(each) for each in roles if any(map(_creates, each.get("rules") or []))}
    where: dict[Key, set[str]] = defaultdict(set)
    for binding in bindings:
        namespace = str(binding["metadata"].get("namespace") or "")
        reference = binding["roleRef"]
        scope = namespace if reference["kind"] == "Role" else ""
        if (scope, reference["name"]) not in giving:
            continue
        for subject in binding.get("subjects") or []:
            if not _is_of_the_cluster(subject):
                key = (subject["kind"], str(subject.get("namespace") or ""), subject["name"])
                where[key].add(namespace)
    # Groups of everybody come first: they are the widest.
    ordered = sorted(where.items(), key=lambda item: (not item[0][2].startswith(_ALL), item[0]))
    kinds: tuple[Literal["Group", "ServiceAccount"], ...] = ("Group", "ServiceAccount")
    authors = [
        PodAuthor(kind, name, namespace, [] if "" in places else sorted(places))
        for kind in kinds
        for (of, namespace, name), places in ordered
        if of == kind
    ]
    return authors, sum(kind == "User" for kind, _, _ in where)


def _key(role: Mapping[str, Any]) -> tuple[str, str]:
    metadata = role["metadata"]
    return str(metadata.get("namespace") or ""), str(metadata["name"])


def _creates(rule: Mapping[str, Any]) -> bool:
    return (
        bool({"create", "*"} & set(rule.get("verbs") or []))
        and bool(_CARRIERS & set(rule.get("resources") or []))
        and bool(_GROUPS & set(rule.get("apiGroups") or []))
    )


def _is_of_the_cluster(subject: Mapping[str, Any]) -> bool:
    name = str(subject.get("name", ""))
    match subject.get("kind"):
        case "ServiceAccount":
            return subject.get("namespace") == _OWN
        case "Group":
            return name in _OWN_GROUPS
        case _:
            return name.startswith(_CLUSTER_USERS)
