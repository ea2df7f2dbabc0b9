"""Who asks: the kind of an identity, and whose `use` of a profile counts for an object.

The table stands in `docs/reference/privileges.md`. PodSecurityPolicy counted "the user or the
service account", which let every holder of a wide right pass for all; here the rights of a
controller that is configured for the owner's kind never count, and an owner reference alone proves
nothing, since anyone who may create a Pod may write one.
"""

import enum
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from core.base import names
from core.base.errors import SettingsError
from core.decision.requester_notes import kind_of_owner
from core.kubernetes.object_meta import OwnerReference
from core.kubernetes.pod import Pod
from core.kubernetes.workload_kinds import CONTROLLER_MANAGER, OWNERS, WORKLOADS, GroupKind
from core.people.subject import SERVICE_ACCOUNT_PREFIX, Subject, service_account_subject

ANONYMOUS: Final = "system:anonymous"
UNAUTHENTICATED: Final = "system:unauthenticated"
NODE_PREFIX: Final = "system:node:"
NODES_GROUP: Final = "system:nodes"

_SYSTEM = "system:serviceaccount:kube-system:"

BUILT_IN: Mapping[str, frozenset[GroupKind]] = {
    user: kinds for user, kinds in OWNERS.items() if user.startswith((_SYSTEM, CONTROLLER_MANAGER))
}
"""The controllers of Kubernetes' own workloads, and what they own. They run under these service
accounts with --use-service-account-credentials (every distribution's default), else as the
controller manager itself. Nobody but the cluster's operators has a say in kube-system; those of
other operators' usual names count once they are configured: namespaces of these names may be
anyone's."""

VOLUME_BINDERS = frozenset(
    {_SYSTEM + "persistent-volume-binder", CONTROLLER_MANAGER, "system:kube-scheduler"}
)
"""Who binds PersistentVolumes to claims (kubernetes/pkg/controller/volume/persistentvolume). The
scheduler does where a class waits for the first Pod (its plugin volumebinding)."""

CLAIM_MAKERS = frozenset(
    {
        _SYSTEM + "resource-claim-controller",
        _SYSTEM + "ephemeral-volume-controller",
        CONTROLLER_MANAGER,
    }
)
"""Who makes claims from templates that were judged for their authors: ResourceClaims, and the
claims of a Pod's ephemeral volumes (kubernetes/pkg/controller/{resourceclaim,volume/ephemeral})."""

_NO_WORKLOADS = frozenset({"", "rbac.authorization.k8s.io", "coordination.k8s.io"})


class SubjectKind(enum.Enum):
    """The sort of identity that a request comes from."""

    ENTRA_HUMAN = "entra-human"
    """Whose token carried an Entra object id (`extra.oid`). Entra gives one to its applications
    too: the operator lists those that are pipelines."""
    HUMAN = "human"
    """Any other user: of another OIDC issuer, or of a client certificate."""
    SERVICE_ACCOUNT = "service-account"
    NODE = "node"
    CONTROLLER = "controller"
    """What is configured to make objects for others."""
    PIPELINE = "pipeline"
    """A user or a service account that the operator lists as one."""
    COMPONENT = "component"
    """Another identity of the cluster itself (`system:…`)."""
    ANONYMOUS = "anonymous"


def kind_of(
    subject: Subject, controllers: Collection[str] = (), pipelines: Collection[str] = ()
) -> SubjectKind:
    """Return the kind of a subject; `controllers` and `pipelines` are user names.

    A user name counts only where kube-apiserver's own groups confirm it: a node is one of
    `system:nodes`, since an issuer's prefix may be chosen carelessly.
    """
    username, groups = subject.username, subject.groups
    if username == ANONYMOUS or UNAUTHENTICATED in groups or not username:
        return SubjectKind.ANONYMOUS
    if username in controllers:
        return SubjectKind.CONTROLLER
    if username in pipelines:
        return SubjectKind.PIPELINE
    if subject.is_system:
        return _of_the_cluster(username, groups)
    return SubjectKind.ENTRA_HUMAN if subject.label.startswith("oid:") else SubjectKind.HUMAN


def _of_the_cluster(username: str, groups: Collection[str]) -> SubjectKind:
    if username.startswith(SERVICE_ACCOUNT_PREFIX):
        return SubjectKind.SERVICE_ACCOUNT
    if username.startswith(NODE_PREFIX) and NODES_GROUP in groups:
        return SubjectKind.NODE
    return SubjectKind.COMPONENT


@dataclass(frozen=True)
class Controllers:
    """Who makes objects for others, and for which kinds of owners: there its rights never count."""

    kinds: Mapping[str, frozenset[GroupKind]] = field(default_factory=lambda: BUILT_IN)
    """By user name."""

    def is_any(self, username: str) -> bool:
        """Return whether this user is a configured controller, of whatever kind."""
        return username in self.kinds

    def makes(self, username: str, kinds: Iterable[GroupKind]) -> bool:
        """Return whether this user is the controller of one of these kinds."""
        owned_by = self.kinds.get(username)
        return owned_by is not None and not owned_by.isdisjoint(kinds)

    def follows(self, owner: OwnerReference) -> bool:
        """Return whether some controller is configured for the owner's kind."""
        kind = kind_of_owner(owner)
        return any(kind in kinds for kinds in self.kinds.values())


def parse_controllers(entries: Iterable[str]) -> Controllers:
    """Return Kubernetes' controllers and those of the setting `controllers`.

    An entry is a user name, followed by `=` and kinds (`PyTorchJob.kubeflow.org`, `Job.batch`,
    comma-separated) unless the table of workloads says which kinds are this user's.

    Raises:
        SettingsError: an entry says no kinds, and the table does not know its user.
    """
    kinds = dict(BUILT_IN)
    for entry in entries:
        username, _, listed = entry.partition("=")
        named = frozenset(_parse_kind(entry, each) for each in listed.split(",") if each.strip())
        found = named or OWNERS.get(username)
        if not username or not found:
            message = f"controllers: {entry}: say of which kinds: {username}=KIND.GROUP,…"
            raise SettingsError(message)
        kinds[username] = kinds.get(username, frozenset()) | found
    return Controllers(kinds)


def _parse_kind(entry: str, text: str) -> GroupKind:
    kind, _, group = text.strip().partition(".")
    if not kind[:1].isupper():
        raise SettingsError(f"controllers: {entry}: {text.strip()}: must be KIND.GROUP")
    return group, kind


def is_mirror(subject: Subject, pod: Pod) -> bool:
    """Return whether a node shows a static Pod that it already runs.

    NodeRestriction lets a node create mirror Pods of itself only; refusing the object would
    hide what runs, not stop it.
    """
    shown = names.MIRROR_ANNOTATION in (pod.metadata.annotations or {})
    return shown and kind_of(subject) is SubjectKind.NODE


def subjects_of_pod(
    requester: Subject, pod: Pod, namespace: str, controllers: Controllers
) -> tuple[Subject, ...]:
    """Return the subjects that must all have the `use` of the Pod's profile."""
    accounts = (pod_service_account(pod, namespace),)
    return subjects_of(requester, pod.metadata.owner_references or (), accounts, controllers)


def subjects_of(
    requester: Subject,
    owners: Collection[OwnerReference],
    accounts: tuple[Subject, ...],
    controllers: Controllers,
    own: GroupKind | None = None,
) -> tuple[Subject, ...]:
    """Return the subjects that must all have the `use` of the profile of a Pod or a workload.

    - from the controller that is configured for its owner's kind, or for its own (`own`, where
      the object is there already): the service accounts of its Pods, never the controller;
    - from another controller, or owned by a workload: the requester and the service accounts;
    - everything else: the requester.
    """
    kinds = [kind_of_owner(owner) for owner in owners]
    if controllers.makes(requester.username, kinds if own is None else [*kinds, own]):
        return accounts
    if controllers.is_any(requester.username) or any(map(_is_workload, owners)):
        return (requester, *(each for each in accounts if each != requester))
    return (requester,)


def pod_service_account(pod: Pod, namespace: str) -> Subject:
    """Return the service account that the Pod runs as."""
    return service_account_subject(namespace, pod.spec.account)


def _is_workload(owner: OwnerReference) -> bool:
    """Return whether the owner may be a workload: all are, but for kinds known not to be.

    A custom resource that nobody listed may well stand for one, so the doubt counts against it.
    """
    kind = kind_of_owner(owner)
    return kind in WORKLOADS or kind[0] not in _NO_WORKLOADS
