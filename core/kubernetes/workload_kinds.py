"""The kinds that carry Pods: where each keeps its Pod templates, and who makes its Pods. Pure.

One table for admission, `sallyport review`, the webhooks' rules and the documentation
(`docs/operate/workloads.md`).
"""

from collections.abc import Mapping
from typing import Final

from core.base import names
from core.kubernetes.operators import LEADER_WORKER_SETS, OPERATORS
from core.kubernetes.workload import CONTROLLER_MANAGER, GroupKind, Workload, account, templates


def _built_in(group: str, kind: str, resource: str, path: str, controller: str = "") -> Workload:
    """Give one of Kubernetes' own (k8s.io/api types.go; cmd/kube-controller-manager/app)."""
    return Workload(
        group=group,
        kind=kind,
        resource=resource,
        versions=("v1",),
        places=templates(path),
        controllers=(account(controller), CONTROLLER_MANAGER) if controller else (),
        source=f"kubernetes/api {group or 'core'}/v1/types.go",
    )


_TABLE: Final = (
    _built_in("", "PodTemplate", "podtemplates", "template"),
    _built_in(
        "",
        "ReplicationController",
        "replicationcontrollers",
        "spec.template",
        "replication-controller",
    ),
    _built_in("apps", "ReplicaSet", "replicasets", "spec.template", "replicaset-controller"),
    _built_in("apps", "Deployment", "deployments", "spec.template", "deployment-controller"),
    _built_in("apps", "StatefulSet", "statefulsets", "spec.template", "statefulset-controller"),
    _built_in("apps", "DaemonSet", "daemonsets", "spec.template", "daemon-set-controller"),
    _built_in("batch", "Job", "jobs", "spec.template", "job-controller"),
    _built_in(
        "batch", "CronJob", "cronjobs", "spec.jobTemplate.spec.template", "cronjob-controller"
    ),
    *OPERATORS,
)

WORKLOADS: Final[Mapping[GroupKind, Workload]] = {each.group_kind: each for each in _TABLE}
"""The table, by API group and kind."""


def workload_of(group: str, kind: str) -> Workload | None:
    """Give what is known of a kind; None where it is not listed."""
    return WORKLOADS.get((group, kind))


def may_carry(group: str, kind: str) -> bool:
    """Say whether a kind that nobody listed may carry Pods: whatever a CRD may define."""
    return "." in group and group != names.GROUP and (group, kind) not in WORKLOADS


OWNERS: Final[Mapping[str, frozenset[GroupKind]]] = {
    user: frozenset(each.group_kind for each in _TABLE if user in each.controllers)
    # LeaderWorkerSet's controller makes the workers' StatefulSets for the leader's Pod.
    | (frozenset({("", "Pod")}) if user in LEADER_WORKER_SETS else frozenset())
    for user in sorted({user for each in _TABLE for user in each.controllers})
}
"""For the user names of controllers: the kinds whose objects own what they make."""
