"""What the sweep may do in a cluster: what it needs, and nothing else."""

from collections.abc import Callable
from typing import Final

from tests.harness.programs.client import Json
from tests.harness.programs.sweeper import NAMESPACE
from tests.harness.worlds.rbac import binding, role, rule, service_account

ACCOUNT: Final = "sallyport-control"

_RULES: Final = [
    rule(["apps"], "deployments replicasets", "get"),
    rule([""], "pods", "list"),
    rule([""], "nodes", "list"),
    rule([""], "namespaces", "get list watch"),
    rule([""], "persistentvolumes", "list watch"),
    rule(["node.k8s.io"], "runtimeclasses", "list watch"),
    rule([""], "services", "list watch"),
    rule([""], "serviceaccounts", "list watch"),
    rule(["sallyport.dev"], "containerprofiles", "list watch"),
    *(
        rule(["sallyport.dev"], resource, "list watch")
        for resource in (
            "accessgrants",
            "approvals",
            "breakglasses",
            "clusterapprovals",
            "policyexceptions",
            "weightstores",
        )
    ),
    rule(["authorization.k8s.io"], "subjectaccessreviews", "create"),
    rule(["openreports.io"], "reports", "list create patch delete"),
    rule(["openreports.io"], "clusterreports", "create patch"),
]
_OWN: Final = [
    rule([""], "configmaps", "create"),
    rule([""], "configmaps", "get update", "sallyport-sweep"),
    rule([""], "configmaps", "get list watch patch", "sallyport-sandbox-capacity"),
    rule([""], "configmaps", "list watch", "sallyport-fields"),
    rule([""], "configmaps", "get list watch patch", "sallyport-filled-fields"),
    rule([""], "podtemplates", "create"),
    rule([""], "configmaps", "get list watch update", "sallyport-bundles"),
    rule([""], "configmaps", "get patch", "sallyport-gates"),
    rule(["sallyport.dev"], "backstops", "create"),
    rule(["sallyport.dev"], "backstops", "get patch", "sallyport-backstop"),
]


def rights(account: str = ACCOUNT, keep: Callable[[Json], bool] = lambda _: True) -> list[Json]:
    """Return roles and bindings of an account: all rules that are to be kept."""
    return [
        *_bound(account, None, list(filter(keep, _RULES))),
        *_bound(account, NAMESPACE, list(filter(keep, _OWN))),
    ]


def _bound(account: str, namespace: str | None, rules: list[Json]) -> list[Json]:
    bound = binding(account, service_account(account, NAMESPACE), namespace=namespace)
    return [role(account, {}, namespace) | {"rules": rules}, bound]
