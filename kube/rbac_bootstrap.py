"""The ClusterRoles that every cluster has, as far as they matter to Sallyport.

Source: k8s.io/kubernetes plugin/pkg/auth/authorizer/rbac/bootstrappolicy/policy.go.
"""

from collections.abc import Iterator
from typing import Final

from kube.rbac_objects import AggregationRule, LabelSelector, Meta, PolicyRule, Role

_LABELS: Final = {"kubernetes.io/bootstrapping": "rbac-defaults"}
_AGGREGATE: Final = "rbac.authorization.k8s.io/aggregate-to-"

_PODS_READ: Final = PolicyRule(["get", "list", "watch"], [""], ["pods"])
_PODS_WRITTEN: Final = PolicyRule(["create", "delete", "patch", "update"], [""], ["pods"])
_REVIEWS: Final = PolicyRule(["create"], ["authorization.k8s.io"], ["localsubjectaccessreviews"])


def bootstrap_roles() -> Iterator[Role]:
    """Yield the ClusterRoles that can reach Sallyport's resources, and those they are made of.

    `admin`, `edit` and `view` have no rule for these resources but what is aggregated. The
    roles that they aggregate from the start have one of their rules here, for the many that
    are about resources which Sallyport never asks about; that they have any keeps a role that
    selects them from being empty. Roles of Kubernetes' controllers that may get, list or
    delete anything are left out: none has a verb that Sallyport asks for.
    """
    everything = PolicyRule(["*"], ["*"], ["*"])
    yield Role(Meta("cluster-admin", labels=_LABELS), [everything], kind="ClusterRole")
    for name, feeds, rule in (
        ("admin", "", _REVIEWS),
        ("edit", "admin", _PODS_WRITTEN),
        ("view", "edit", _PODS_READ),
    ):
        own = {_AGGREGATE + name: "true"}
        meta = Meta(f"system:aggregate-to-{name}", labels=_LABELS | own)
        yield Role(meta, [rule], kind="ClusterRole")
        meta = Meta(name, labels=_LABELS | ({_AGGREGATE + feeds: "true"} if feeds else {}))
        selected = AggregationRule([LabelSelector(match_labels=own)])
        yield Role(meta, aggregation_rule=selected, kind="ClusterRole")
