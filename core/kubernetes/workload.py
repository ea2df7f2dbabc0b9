"""What is known of a kind that carries Pods. Pure."""

import enum
from dataclasses import dataclass
from typing import Final

GroupKind = tuple[str, str]
"""An API group, empty for the core one, and a kind."""

BUILT_IN_GROUPS: Final = frozenset({"", "apps", "batch"})
CONTROLLER_MANAGER: Final = "system:kube-controller-manager"
"""The user of all of Kubernetes' controllers without --use-service-account-credentials."""


class Holds(enum.Enum):
    """What lies at a path."""

    TEMPLATE = "Pod template"
    SPEC = "Pod spec"
    OBJECT = "whole object of any kind"
    WORKFLOW = "workflow of Argo"
    SPARK = "application of Spark"
    FLINK = "deployment of Flink"
    PREDICTOR = "component of KServe"


@dataclass(frozen=True)
class Place:
    """Where templates lie in an object, and as what."""

    path: str
    """From the object's root: `[*]` for each item of a list, `*` for each value of a map."""
    holds: Holds = Holds.TEMPLATE


@dataclass(frozen=True, kw_only=True)
class Workload:
    """A kind whose objects make Pods, or hold what others make Pods from."""

    group: str
    kind: str
    resource: str
    versions: tuple[str, ...]
    """All that are, or were, served: a webhook's rule names them."""
    places: tuple[Place, ...]
    controllers: tuple[str, ...] = ()
    """User names under which its controller usually runs: who makes what such an object owns."""
    source: str
    """Where its schema is published: repository and file."""
    says: tuple[str, ...] = ()
    """Where, besides the templates, it says what its Pods run; paths as those of places."""
    more: str = ""
    """What its Pods have that no template of the object says; empty where there is nothing."""
    namespaced: bool = True

    @property
    def group_kind(self) -> GroupKind:
        """Its API group and kind."""
        return self.group, self.kind

    @property
    def built_in(self) -> bool:
        """Whether it is one of Kubernetes' own, whose templates kube-apiserver validates."""
        return self.group in BUILT_IN_GROUPS


def account(name: str, namespace: str = "kube-system") -> str:
    """Give the user name of a service account."""
    return f"system:serviceaccount:{namespace}:{name}"


def templates(*paths: str) -> tuple[Place, ...]:
    """Give places where Pod templates lie."""
    return tuple(Place(path) for path in paths)
