"""What a review may ask of the cluster: the one seam between judging and Kubernetes.

`kube.cluster.live` answers from a real kube-apiserver, `kube.cluster.folder` from a folder of YAML.
"""

from collections.abc import Mapping
from typing import Protocol

import msgspec

from core.approvals.break_glass import BreakGlass
from core.approvals.exceptions import PolicyException
from core.decision.namespaces import Namespace
from core.decision.requester_notes import OwnerObject
from core.egress.allowlists import EgressAllowlist, EgressDestinations
from core.kubernetes.field_rows import KnownFields
from core.kubernetes.object_meta import OwnerReference
from core.kubernetes.persistent_volumes import PersistentVolume
from core.kubernetes.pod import Pod
from core.kubernetes.roles import RoleRule
from core.people.subject import Subject
from core.people.two_person import Consent
from core.profiles.container_profiles import ProfileSet
from core.risk.snapshot import RiskSnapshot
from core.sandbox.capacity import Capacity
from core.sandbox.decision import RuntimeClass
from core.weights.access_grants import AccessGrant
from core.weights.access_paths import WeightStoreSet
from core.weights.egress_openings import WeightOpening


class WeightSource(Protocol):
    """The WeightStores of a cluster, and who was given them. All but `read_grant` is from memory.

    Approvals of grants are given by `ExceptionSource.consents`.
    """

    def stores(self) -> WeightStoreSet:
        """Return all stores: one immutable revision, that is false where there are none.

        Raises:
            NotSyncedError: they have not been loaded, or the watch has been down too long.
        """

    def grants(self, namespace: str) -> tuple[AccessGrant, ...]:
        """Return the grants of a namespace, by name, whether in force or not.

        Raises:
            NotSyncedError: as `stores`.
        """

    def openings(self, namespace: str) -> tuple[WeightOpening, ...]:
        """Return what allowlists of a namespace open to stores, as `control` says.

        Raises:
            NotSyncedError: as `stores`.
        """

    async def read_grant(self, namespace: str, name: str) -> AccessGrant | None:
        """Return one grant as it is now, from the cluster and not from memory.

        Raises:
            NotSyncedError: the cluster did not say.
        """


class AccountSignIn(msgspec.Struct, frozen=True, gc=False):
    """Whom a ServiceAccount says that it signs in as at Entra ID, as its author wrote it."""

    client_id: str = ""
    """The annotation `azure.workload.identity/client-id`; empty without one."""
    tenant: str = ""
    """`azure.workload.identity/tenant-id`; empty without one: the cluster's own."""


class ExceptionSource(Protocol):
    """The PolicyExceptions of a cluster, and their approvals. All but `read` is from memory."""

    def in_namespace(self, namespace: str) -> tuple[PolicyException, ...]:
        """Return the exceptions of a namespace, by name, whether in force or not.

        Raises:
            NotSyncedError: they have not been loaded, or the watch has been down too long.
        """

    def consents(self, namespace: str, uid: str) -> tuple[Consent, ...]:
        """Return the approvals of an object of a namespace.

        Raises:
            NotSyncedError: as `in_namespace`.
        """

    async def read(self, namespace: str, name: str) -> PolicyException | None:
        """Return one exception as it is now, from the cluster and not from memory.

        Raises:
            NotSyncedError: the cluster did not say.
        """


class BreakGlassSource(Protocol):
    """The BreakGlasses of a cluster, and their approvals. All but `read` is from memory."""

    def everywhere(self) -> tuple[BreakGlass, ...]:
        """Return all of them, whether activated or not.

        Raises:
            NotSyncedError: as `activated_in`.
        """

    def activated_in(self, namespace: str) -> tuple[BreakGlass, ...]:
        """Return those that were activated and name a namespace, whether in force still or not.

        Raises:
            NotSyncedError: they have not been loaded, or the watch has been down too long.
        """

    def consents(self, uid: str) -> tuple[Consent, ...]:
        """Return the approvals of one.

        Raises:
            NotSyncedError: as `activated_in`.
        """

    async def read(self, name: str) -> BreakGlass | None:
        """Return one as it is now, from the cluster and not from memory.

        Raises:
            NotSyncedError: the cluster did not say.
        """


class IntentSource(Protocol):
    """What says where Pods may connect, as it is now: few reviews ask, and none of a Pod."""

    async def in_namespace(self, namespace: str) -> tuple[EgressAllowlist, ...]:
        """Return the allowlists of a namespace, by name, whether in force or not.

        Raises:
            NotSyncedError: the cluster did not say.
        """

    async def allowlist(self, namespace: str, name: str) -> EgressAllowlist | None:
        """Return one allowlist.

        Raises:
            NotSyncedError: the cluster did not say.
        """

    async def destinations(self, name: str) -> EgressDestinations | None:
        """Return one set of destinations.

        Raises:
            NotSyncedError: the cluster did not say.
        """


class Cluster(Protocol):
    """Facts of a cluster, from memory where nothing else is said here.

    `allowed`, `owner`, `pod`, `role` and `generated_policies` may ask the cluster; `namespace` and
    `is_egress_closed` wait briefly for what the watch has not brought yet. Sources' `async` methods
    may ask it too.
    """

    @property
    def exceptions(self) -> ExceptionSource:
        """What is excused, and who approved it."""

    @property
    def break_glasses(self) -> BreakGlassSource:
        """What is relaxed in an emergency, and who approved it."""

    @property
    def intents(self) -> IntentSource:
        """Where Pods may connect."""

    @property
    def weights(self) -> WeightSource:
        """Where model weights lie, and who was given them."""

    def missing(self) -> list[str]:
        """Name what has not been loaded, for a person; empty when reviews can be judged."""

    def identity(self) -> str:
        """Return what tells this cluster from all others: the UID of its Namespace kube-system.

        Raises:
            NotSyncedError: the namespaces have not been loaded.
        """

    def access_reviews(self) -> Mapping[str, int]:
        """Count access reviews: answered from memory (`hit`), asked (`miss`), failed (`error`)."""

    def profiles(self) -> ProfileSet:
        """Return the profiles in force: one immutable snapshot.

        Raises:
            NotSyncedError: they have not been loaded, or the watch has been down too long.
        """

    async def namespace(self, name: str) -> Namespace:
        """Return a namespace; waits briefly for one that the watch has not brought yet.

        Raises:
            NotSyncedError: it is unknown, or the watch has been down too long.
        """

    async def is_egress_closed(self, namespace: str) -> bool:
        """Return whether the policy is in place that closes a namespace on the way out.

        It waits briefly for one that the watch has not brought yet.

        Raises:
            NotSyncedError: it is not known, or the watch has been down too long.
        """

    async def generated_policies(self, namespace: str) -> tuple[msgspec.Raw, ...]:
        """Return the JSON of the NetworkPolicies that Sallyport made in a namespace, as of now.

        Raises:
            NotSyncedError: the cluster did not say.
        """

    def volume(self, name: str) -> PersistentVolume | None:
        """Return a PersistentVolume.

        Raises:
            NotSyncedError: they have not been loaded, or the watch has been down too long.
        """

    def node_volumes_of(self, claim: str) -> tuple[PersistentVolume, ...]:
        """Return the volumes on a node that a claim, `namespace/name`, has or that are kept for it.

        More than one may be kept for a claim; any of them may be what it is bound to.

        Only volumes that show a path of the node are given: they are what a Pod could also
        have mounted by itself.

        Raises:
            NotSyncedError: as `volume`.
        """

    def blob_volumes_of(self, claim: str) -> tuple[PersistentVolume, ...]:
        """Return the volumes of blobs that a claim, `namespace/name`, has or that are kept for it.

        Raises:
            NotSyncedError: as `volume`.
        """

    def shares_volume(self, claim: str) -> bool:
        """Return whether a claim, `namespace/name`, is a file system that others mount, or may be.

        A claim that no volume is bound to, or kept for, may get any that is nobody's.

        Raises:
            NotSyncedError: the volumes are not known.
        """

    def volumes_of_namespace(self, namespace: str) -> tuple[PersistentVolume, ...]:
        """Return all volumes that claims of a namespace have, or that are kept for some.

        It looks at all of them.

        Raises:
            NotSyncedError: as `volume`.
        """

    def runtime_class(self, name: str) -> RuntimeClass | None:
        """Return a RuntimeClass; None where there is none of this name.

        Raises:
            NotSyncedError: they have not been loaded, or the watch has been down too long.
        """

    def capacity(self, runtime_class: str) -> Capacity | None:
        """Return what is known of the nodes of a RuntimeClass; None where nothing can be relied on.

        Never an error: it is a reason to warn, and no more.
        """

    def known_fields(self) -> KnownFields:
        """Return what the cluster says of fields beside the table of the release.

        Never an error: without it more is warned of. The same object as long as it is unchanged.
        """

    def risk(self) -> RiskSnapshot | None:
        """Return the risk of all identities; None where nothing is decided by it.

        Never an error: an empty one, or one that is too old, says so itself.
        """

    def exposing_services(self, namespace: str, labels: Mapping[str, str]) -> tuple[str, ...]:
        """Name the Services that send traffic from outside of the cluster to a Pod of these labels.

        They are sorted, and of the Pod's namespace: the only one that a Service can send to.

        Raises:
            NotSyncedError: they have not been loaded, or the watch has been down too long.
        """

    def service_account_made(self, namespace: str, name: str) -> float | None:
        """Return when a ServiceAccount was made, in Unix seconds; None where it is not known yet.

        kube-apiserver refuses the Pods of one that does not exist: what is not known was made a
        moment ago.

        Raises:
            NotSyncedError: they have not been loaded, or the watch has been down too long.
        """

    def service_account_sign_in(self, namespace: str, name: str) -> AccountSignIn | None:
        """Return whom a ServiceAccount signs in as; None where it is not known yet.

        Raises:
            NotSyncedError: as `service_account_made`.
        """

    async def owner(
        self, namespace: str, reference: OwnerReference, *, fresh: bool = False
    ) -> OwnerObject | None:
        """Return an owner of an object of a namespace, by UID; None where it is not there.

        It may be remembered for a few seconds; `fresh` asks the cluster.

        Raises:
            OwnerUnknownError: the cluster did not say.
        """

    async def pod(self, namespace: str, name: str) -> Pod | None:
        """Return a Pod as it is now; None where there is none.

        Raises:
            PodUnknownError: the cluster did not say.
            InvalidObjectError: it does not have a Pod's shape.
        """

    async def role(self, kind: str, namespace: str, name: str) -> tuple[RoleRule, ...] | None:
        """Return the rules of a Role or ClusterRole as it is now; None where there is none.

        Raises:
            RoleUnknownError: the cluster did not say.
        """

    def remembered_access(
        self, subject: Subject, verb: str, resource: str, name: str, namespace: str
    ) -> bool | None:
        """Return the remembered answer of `allowed`; None where the cluster must be asked."""

    async def allowed(
        self, subject: Subject, verb: str, resource: str, name: str, namespace: str
    ) -> bool:
        """Return whether RBAC (or any authorizer) lets `subject` do `verb` on a Sallyport resource.

        `resource` is of the group `sallyport.dev`; `namespace` is empty for all of them.

        Raises:
            AccessReviewError: the cluster did not say.
        """
