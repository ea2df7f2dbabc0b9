"""A cluster that counts what it is asked, answers late, or not at all."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec

from core.base.errors import (
    AccessReviewError,
    NotSyncedError,
    OwnerUnknownError,
    PodUnknownError,
    RoleUnknownError,
)
from core.cluster import (
    AccountSignIn,
    BreakGlassSource,
    Cluster,
    ExceptionSource,
    IntentSource,
    WeightSource,
)
from core.decision.namespaces import Namespace
from core.decision.requester_notes import OwnerObject
from core.kubernetes.field_rows import KnownFields
from core.kubernetes.object_meta import OwnerReference
from core.kubernetes.persistent_volumes import PersistentVolume
from core.kubernetes.pod import Pod
from core.kubernetes.roles import RoleRule
from core.people.subject import Subject
from core.profiles.container_profiles import ProfileSet
from core.risk.snapshot import RiskSnapshot
from core.sandbox.capacity import Capacity
from core.sandbox.decision import RuntimeClass


@dataclass
class Watched:
    """A cluster that counts what it is asked, answers late, or not at all."""

    inner: Cluster
    delay: float = 0.0
    fails: frozenset[str] = frozenset()
    """Names for which an access review fails; `*` for all."""
    lost: str = ""
    """What has not been synced, or cannot be had: `namespaces`, `profiles`, `volumes`, `owners`,
    `roles`, `pods`, `runtime-classes`, `services`, `service-accounts`, `default-denies`,
    `policies`."""
    closes: frozenset[str] = frozenset()
    """Namespaces whose default deny is in place."""
    policies: tuple[object, ...] = ()
    """The NetworkPolicies that Sallyport made."""
    snapshot: RiskSnapshot | None = None
    """The risk of identities; None where nobody is asked for it."""
    owners: int = 0
    """How many owners were asked for."""
    asked: list[tuple[str, str, str]] = field(default_factory=list)
    """User name, name and namespace of each access review."""

    def missing(self) -> list[str]:
        """Name what is lost."""
        return [self.lost] if self.lost else []

    def identity(self) -> str:
        """Return the folder's."""
        return self.inner.identity()

    def access_reviews(self) -> Mapping[str, int]:
        """Count what was asked."""
        return {"miss": len(self.asked)}

    def profiles(self) -> ProfileSet:
        """Return the profiles, unless they are lost."""
        if self.lost == "profiles":
            raise NotSyncedError("the profiles have not been loaded")
        return self.inner.profiles()

    async def namespace(self, name: str) -> Namespace:
        """Return the namespace, unless they are lost."""
        if self.lost == "namespaces":
            raise NotSyncedError(f"namespace {name} is unknown")
        return await self.inner.namespace(name)

    async def is_egress_closed(self, namespace: str) -> bool:
        """Return whether a namespace is closed, unless that is lost."""
        if self.lost == "default-denies":
            raise NotSyncedError("the policies have not been loaded")
        return namespace in self.closes

    async def generated_policies(self, namespace: str) -> tuple[msgspec.Raw, ...]:
        """Return what was made, unless it is lost."""
        if self.lost == "policies":
            raise NotSyncedError(f"the policies that Sallyport made in {namespace}")
        return tuple(msgspec.Raw(msgspec.json.encode(each)) for each in self.policies)

    def volume(self, name: str) -> PersistentVolume | None:
        """Return the folder's volume, unless they are lost."""
        if self.lost == "volumes":
            raise NotSyncedError("the volumes have not been loaded")
        return self.inner.volume(name)

    def node_volumes_of(self, claim: str) -> tuple[PersistentVolume, ...]:
        """Return the volumes of a claim, unless they are lost."""
        if self.lost == "volumes":
            raise NotSyncedError("the volumes have not been loaded")
        return self.inner.node_volumes_of(claim)

    def shares_volume(self, claim: str) -> bool:
        """Return whether a claim is shared, unless the volumes are lost."""
        if self.lost == "volumes":
            raise NotSyncedError("the volumes have not been loaded")
        return self.inner.shares_volume(claim)

    @property
    def exceptions(self) -> ExceptionSource:
        """Return the folder's."""
        return self.inner.exceptions

    @property
    def break_glasses(self) -> BreakGlassSource:
        """Return the folder's."""
        return self.inner.break_glasses

    @property
    def intents(self) -> IntentSource:
        """Return the folder's."""
        return self.inner.intents

    @property
    def weights(self) -> WeightSource:
        """Return the folder's, unless they are lost."""
        if self.lost == "weights":
            raise NotSyncedError("the WeightStores have not been loaded")
        return self.inner.weights

    async def role(self, kind: str, namespace: str, name: str) -> tuple[RoleRule, ...] | None:
        """Return the folder's role, unless they are lost."""
        if self.lost == "roles":
            raise RoleUnknownError("the cluster did not give the role")
        return await self.inner.role(kind, namespace, name)

    async def pod(self, namespace: str, name: str) -> Pod | None:
        """Return the folder's Pod, unless they are lost."""
        if self.lost == "pods":
            raise PodUnknownError(f"the cluster did not give Pod {namespace}/{name}")
        return await self.inner.pod(namespace, name)

    def blob_volumes_of(self, claim: str) -> tuple[PersistentVolume, ...]:
        """Return the volumes of blobs of a claim, unless they are lost."""
        if self.lost == "volumes":
            raise NotSyncedError("the volumes have not been loaded")
        return self.inner.blob_volumes_of(claim)

    def volumes_of_namespace(self, namespace: str) -> tuple[PersistentVolume, ...]:
        """Return the volumes of a namespace, unless they are lost."""
        if self.lost == "volumes":
            raise NotSyncedError("the volumes have not been loaded")
        return self.inner.volumes_of_namespace(namespace)

    def runtime_class(self, name: str) -> RuntimeClass | None:
        """Return a RuntimeClass, unless they are lost."""
        if self.lost == "runtime-classes":
            raise NotSyncedError("the RuntimeClasses have not been loaded")
        return self.inner.runtime_class(name)

    def known_fields(self) -> KnownFields:
        """Answer as the cluster does."""
        return self.inner.known_fields()

    def capacity(self, runtime_class: str) -> Capacity | None:
        """Return the folder's."""
        return self.inner.capacity(runtime_class)

    def risk(self) -> RiskSnapshot | None:
        """Return the snapshot that a test wants."""
        return self.snapshot

    def exposing_services(self, namespace: str, labels: Mapping[str, str]) -> tuple[str, ...]:
        """Name the folder's Services, unless they are lost."""
        if self.lost == "services":
            raise NotSyncedError("the Services have not been loaded")
        return self.inner.exposing_services(namespace, labels)

    def service_account_made(self, namespace: str, name: str) -> float | None:
        """Return when the folder's ServiceAccount was made, unless they are lost."""
        if self.lost == "service-accounts":
            raise NotSyncedError("the ServiceAccounts have not been loaded")
        return self.inner.service_account_made(namespace, name)

    def service_account_sign_in(self, namespace: str, name: str) -> AccountSignIn | None:
        """Return the folder's ServiceAccount, unless they are lost."""
        if self.lost == "service-accounts":
            raise NotSyncedError("the ServiceAccounts have not been loaded")
        return self.inner.service_account_sign_in(namespace, name)

    async def owner(
        self, namespace: str, reference: OwnerReference, *, fresh: bool = False
    ) -> OwnerObject | None:
        """Return the folder's owner, unless they are lost."""
        if self.lost == "owners":
            raise OwnerUnknownError("the cluster did not say who asked for it")
        self.owners += 1
        return await self.inner.owner(namespace, reference, fresh=fresh)

    def remembered_access(
        self, subject: Subject, verb: str, resource: str, name: str, namespace: str
    ) -> bool | None:
        """Know nothing: everything is asked."""
        del subject, verb, resource, name, namespace
        return None

    async def allowed(
        self, subject: Subject, verb: str, resource: str, name: str, namespace: str
    ) -> bool:
        """Answer after the delay, or fail."""
        self.asked.append((subject.username, name, namespace))
        await asyncio.sleep(self.delay)
        if self.fails & {name, "*"}:
            raise AccessReviewError(f"kube-apiserver did not say whether {name} may be used")
        return await self.inner.allowed(subject, verb, resource, name, namespace)
