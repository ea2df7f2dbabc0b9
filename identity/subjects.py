"""Whose right to `use` a profile counts for a Pod.

The table stands in `docs/reference/privileges.md`. PodSecurityPolicy
counted "the user or the service account", which let every holder of a wide right pass for
all; here a configured controller's own rights never count, and an owner reference alone
proves nothing, since anyone who may create a Pod may write one.
"""

from dataclasses import dataclass

from core import names
from core.pod import OwnerReference, Pod
from core.subject import Subject, service_account

_NODE_PREFIX = "system:node:"
_NODES_GROUP = "system:nodes"
_SYSTEM = "system:serviceaccount:kube-system:"
_CONTROLLER_MANAGER = "system:kube-controller-manager"

BUILT_IN_CONTROLLERS = frozenset(
    {
        _SYSTEM + "daemon-set-controller",
        _SYSTEM + "job-controller",
        _SYSTEM + "replicaset-controller",
        _SYSTEM + "replication-controller",
        _SYSTEM + "statefulset-controller",
        _CONTROLLER_MANAGER,
    }
)
"""Who makes Pods for Kubernetes' own workloads. Its controllers run under these service
accounts with --use-service-account-credentials (every distribution's default), else as the
controller manager itself (kubernetes/cmd/kube-controller-manager/app)."""

VOLUME_BINDERS = frozenset(
    {_SYSTEM + "persistent-volume-binder", _CONTROLLER_MANAGER, "system:kube-scheduler"}
)
"""Who binds PersistentVolumes to claims (kubernetes/pkg/controller/volume/persistentvolume). The
scheduler does where a class waits for the first Pod (its plugin volumebinding)."""

CLAIM_MAKERS = frozenset(
    {
        _SYSTEM + "resource-claim-controller",
        _SYSTEM + "ephemeral-volume-controller",
        _CONTROLLER_MANAGER,
    }
)
"""Who makes claims from templates that were judged for their authors: ResourceClaims, and the
claims of a Pod's ephemeral volumes (kubernetes/pkg/controller/{resourceclaim,volume/ephemeral})."""

_NO_WORKLOADS = frozenset({"", "v1", "rbac.authorization.k8s.io", "coordination.k8s.io"})


@dataclass(frozen=True)
class Controllers:
    """The user names of what makes Pods for others: their own rights never count."""

    usernames: frozenset[str] = BUILT_IN_CONTROLLERS

    def is_any(self, username: str) -> bool:
        """Say whether this user is a configured controller."""
        return username in self.usernames


def is_mirror(subject: Subject, pod: Pod) -> bool:
    """Say whether a node shows a static Pod that it already runs.

    NodeRestriction lets a node create mirror Pods of itself only; refusing the object would
    hide what runs, not stop it.
    """
    return (
        subject.username.startswith(_NODE_PREFIX)
        and _NODES_GROUP in subject.groups
        and names.MIRROR_ANNOTATION in (pod.metadata.annotations or {})
    )


def whose_right(
    requester: Subject, pod: Pod, namespace: str, controllers: Controllers
) -> tuple[Subject, ...]:
    """Give the subjects that must all have the `use` of the Pod's profile.

    - made by a configured controller: the Pod's service account, never the controller;
    - made by anyone else and owned by a workload: the requester and the service account;
    - everything else: the requester.
    """
    if controllers.is_any(requester.username):
        return (pod_service_account(pod, namespace),)
    if any(_is_workload(owner) for owner in pod.metadata.owner_references or ()):
        return (requester, pod_service_account(pod, namespace))
    return (requester,)


def pod_service_account(pod: Pod, namespace: str) -> Subject:
    """Give the service account that the Pod runs as."""
    name = pod.spec.service_account_name or pod.spec.service_account or "default"
    return service_account(namespace, name)


def _is_workload(owner: OwnerReference) -> bool:
    """Say whether the owner may be a workload: all are, but for kinds known not to be.

    A custom resource that nobody listed may well stand for one, so the doubt counts against it.
    """
    if owner.kind == "ReplicationController":
        return True
    group, _, _ = owner.api_version.rpartition("/")
    return group not in _NO_WORKLOADS
