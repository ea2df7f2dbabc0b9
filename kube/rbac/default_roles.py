"""The ClusterRoles that every cluster has, as far as they matter to Sallyport.

Source: k8s.io/kubernetes plugin/pkg/auth/authorizer/rbac/bootstrappolicy/policy.go.
"""

from collections.abc import Iterator
from typing import Final

from kube.rbac.objects import GROUP, AggregationRule, LabelSelector, Meta, PolicyRule, Role

_LABELS: Final = {"kubernetes.io/bootstrapping": "rbac-defaults"}
_AGGREGATE: Final = "rbac.authorization.k8s.io/aggregate-to-"

_READ: Final = ["get", "list", "watch"]
_WRITE: Final = ["create", "update", "patch", "delete", "deletecollection"]

_VIEW: Final = [PolicyRule(_READ, [""], ["pods"])]
_ENTERED: Final = ["pods/attach", "pods/exec", "pods/portforward", "pods/proxy"]
_EDIT: Final = [
    PolicyRule([*_READ, *_WRITE], [""], _ENTERED),
    PolicyRule(["impersonate"], [""], ["serviceaccounts"]),
    PolicyRule(["create"], [""], ["serviceaccounts/token"]),
    PolicyRule([*_READ, *_WRITE], [""], ["secrets"]),
    PolicyRule(_WRITE, [""], ["pods", "replicationcontrollers"]),
    PolicyRule(_WRITE, ["apps"], ["daemonsets", "deployments", "replicasets", "statefulsets"]),
    PolicyRule(_WRITE, ["batch"], ["cronjobs", "jobs"]),
]
_ADMIN: Final = [
    PolicyRule(["create"], ["authorization.k8s.io"], ["localsubjectaccessreviews"]),
    PolicyRule([*_READ, *_WRITE], [GROUP], ["roles", "rolebindings"]),
]


def bootstrap_roles() -> Iterator[Role]:
    """Yield the ClusterRoles that can reach Sallyport's resources, and those they are made of.

    `admin`, `edit` and `view` have no rule for these resources but what is aggregated. Of the
    rules of the roles that they aggregate from the start, those are here that need privileges where
    they are bound (docs/operate/rights.md), among them those by which one holder becomes another,
    which `sallyport who-can` follows; each has some, which keeps a role that selects it from being
    empty. Roles of Kubernetes' controllers that may get, list or delete
    anything are left out: none has a verb that Sallyport asks for.
    """
    everything = [PolicyRule(["*"], ["*"], ["*"]), PolicyRule(["*"], non_resource_urls=["*"])]
    yield Role(Meta("cluster-admin", labels=_LABELS), everything, kind="ClusterRole")
    for name, feeds, rules in (
        ("admin", "", _ADMIN),
        ("edit", "admin", _EDIT),
        ("view", "edit", _VIEW),
    ):
        own = {_AGGREGATE + name: "true"}
        meta = Meta(f"system:aggregate-to-{name}", labels=_LABELS | own)
        yield Role(meta, rules, kind="ClusterRole")
        meta = Meta(name, labels=_LABELS | ({_AGGREGATE + feeds: "true"} if feeds else {}))
        selected = AggregationRule([LabelSelector(match_labels=own)])
        yield Role(meta, aggregation_rule=selected, kind="ClusterRole")
