"""A real cluster: its version, profiles, namespaces and volumes in memory; rights are asked for."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec
import structlog

from core.base import names
from core.base.errors import ClusterError, InvalidObjectError, NotSyncedError
from core.decision.namespaces import Namespace
from core.decision.requester_notes import OwnerObject
from core.kubernetes.object_meta import OwnerReference
from core.people.subject import Subject
from core.profiles.container_profiles import (
    ContainerProfile,
    ProfileSet,
    Version,
    build_profile_set,
    parse_newer_profile,
    parse_profile,
    parse_version,
)
from kube.approvals.watch import WatchedBreakGlasses, WatchedExceptions
from kube.client.connection import Connection
from kube.client.settings import LiveSettings
from kube.cluster.access_reviews import AccessCache, AccessQuestion, AccessReviews
from kube.egress.allowlists import IntentLookup
from kube.egress.generated_policies import GeneratedPolicies, WatchedDefaultDenies
from kube.resources.exposed_services import WatchedServices
from kube.resources.known_fields import WatchedFields
from kube.resources.lookups import PodLookup, RoleLookup
from kube.resources.namespaces import parse_namespace
from kube.resources.owners import OwnerCache, OwnerLookup
from kube.resources.paths import NAMESPACES_PATH
from kube.resources.persistent_volumes import WatchedVolumes
from kube.resources.runtime_classes import WatchedRuntimeClasses
from kube.resources.sandbox_capacity import WatchedCapacities
from kube.resources.service_accounts import WatchedServiceAccounts
from kube.risk.watch import WatchedRisk
from kube.watch.listwatch import ListWatch, Resource
from kube.weights.watch import WatchedWeights

PROFILES_PATH: Final = f"/apis/{names.API_VERSION}/{names.PROFILES_RESOURCE}"

SYSTEM_NAMESPACE: Final = "kube-system"

RETRY_S: Final = 1.0
"""Seconds between attempts to learn the cluster's version."""

_log = structlog.get_logger(__name__)


class BrokenProfile(msgspec.Struct, frozen=True):
    """A ContainerProfile that is left out, and why."""

    problem: str


def read_profile(raw: msgspec.Raw) -> ContainerProfile | BrokenProfile:
    """Read a ContainerProfile, or say why it cannot be; one of the next release in part."""
    try:
        if (newer := parse_newer_profile(raw)) is not None:
            _log.warning(
                "profile of a newer release",
                profile=newer.name,
                catalogue=newer.spec.catalogue + 1,
                effect="what this release does not know of it is left out; upgrade the gates",
            )
            return newer
        return parse_profile(raw)
    except InvalidObjectError as error:
        return BrokenProfile(str(error))


class _ServerVersion(msgspec.Struct):
    major: str
    minor: str


async def read_version(connection: Connection, timeout_s: float) -> Version:
    """Ask for `/version`.

    Raises:
        ClusterError: no answer in time, or a failure.
        InvalidObjectError: it is no version.
        msgspec.DecodeError: the answer is something else.
    """
    body = await connection.get("/version", timeout_s, {})
    read = msgspec.json.decode(body, type=_ServerVersion)
    return parse_version(f"{read.major}.{read.minor}", field="/version", what="cluster")


class LiveCluster:
    """`core.cluster.Cluster` answered by kube-apiserver. `start` it, and `stop` it."""

    def __init__(self, kubeconfig: Path | None, settings: LiveSettings | None = None) -> None:
        """Take a kubeconfig file; None is the service account of the Pod that this runs in."""
        self._settings = settings or LiveSettings()
        self._connection = Connection(kubeconfig)
        self._version: Version | None = None
        self._version_error = "no answer yet"
        self._profile_set: ProfileSet | None = None
        self._broken: dict[str, str] = {}
        self._sound: list[ContainerProfile] | None = None
        self._namespace_changed = asyncio.Event()
        self._profiles: ListWatch[ContainerProfile | BrokenProfile] = ListWatch(
            self._connection,
            Resource("ContainerProfiles", PROFILES_PATH, read_profile),
            self._take_profiles,
            self._settings,
        )
        self._namespaces = ListWatch(
            self._connection,
            Resource("Namespaces", NAMESPACES_PATH, parse_namespace),
            self._take_namespaces,
            self._settings,
        )
        self._volumes = WatchedVolumes(self._connection, self._settings)
        self.volume = self._volumes.named
        self.node_volumes_of = self._volumes.node_volumes_of
        self.blob_volumes_of = self._volumes.blob_volumes_of
        self.shares_volume = self._volumes.shares
        self.volumes_of_namespace = self._volumes.volumes_of_namespace
        self._capacities = WatchedCapacities(self._connection, self._settings)
        self.capacity = self._capacities.of
        self._fields = WatchedFields(self._connection, self._settings)
        self.known_fields = self._fields.current
        self._risk = WatchedRisk(self._connection, self._settings)
        self.risk = self._risk.current
        classes = WatchedRuntimeClasses(self._connection, self._settings)
        self.runtime_class = classes.named
        services = WatchedServices(self._connection, self._settings)
        self.exposing_services = services.exposing_services
        accounts = WatchedServiceAccounts(self._connection, self._settings)
        self.service_account_made = accounts.made
        self.service_account_sign_in = accounts.sign_in
        self.client_ids = accounts.client_ids
        self.exceptions = WatchedExceptions(self._connection, self._settings)
        self.break_glasses = WatchedBreakGlasses(self._connection, self._settings)
        denies = WatchedDefaultDenies(self._connection, self._settings)
        self.is_egress_closed = denies.is_egress_closed
        self.weights = WatchedWeights(self._connection, self._settings)
        few = (classes, services, accounts, denies, self.exceptions, self.break_glasses)
        self._for_few = (*few, self.weights)
        reviews = AccessReviews(self._connection, self._settings)
        self.access = AccessCache(
            reviews.ask,
            size=self._settings.cache_size,
            allow_age_s=self._settings.allow_age_s,
            deny_age_s=self._settings.deny_age_s,
        )
        gets = OwnerLookup(self._connection, self._settings)
        self._owners = OwnerCache(
            gets.get, size=self._settings.cache_size, age_s=self._settings.owner_age_s
        )
        self.pod = PodLookup(self._connection, self._settings).get
        self.role = RoleLookup(self._connection, self._settings).get
        self.intents = IntentLookup(self._connection, self._settings)
        self.generated_policies = GeneratedPolicies(self._connection, self._settings).list
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Read the credentials and begin to load; see `missing` or `wait` for the end of it.

        Raises:
            SettingsError: the credentials are missing or broken.
        """
        await self._connection.open()
        watches = (self._profiles, self._namespaces, self._volumes)
        runs = (
            self._follow_version(),
            self._capacities.run(),
            self._risk.run(),
            self._fields.run(),
            *(watch.run() for watch in watches),
            *(watched.run() for watched in self._for_few),
        )
        self._tasks = [asyncio.create_task(run) for run in runs]

    async def stop(self) -> None:
        """End all tasks and connections."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks = []
        await self.access.close()
        await self._owners.close()
        await self._connection.close()

    async def wait(self, timeout_s: float) -> None:
        """Wait until everything has been loaded; what few reviews need, unless it cannot be.

        Raises:
            NotSyncedError: something is missing after `timeout_s` seconds; it says what.
        """
        now = asyncio.get_running_loop().time
        deadline = now() + timeout_s
        while (missing := self.missing()) or not all(each.tried for each in self._for_few):
            if now() >= deadline:
                break
            await asyncio.sleep(0.02)
        if missing:
            raise NotSyncedError("; ".join(missing))

    def missing(self) -> list[str]:
        """Name what has not been loaded, or is too old; empty when reviews can be judged."""
        found = ["" if self._version else f"version of the cluster: {self._version_error}"]
        found += [self._profiles.problem, self._namespaces.problem, self._volumes.problem]
        found += [self._risk.missing, self.weights.problem]
        return [problem for problem in found if problem]

    def identity(self) -> str:
        """Return the UID of the Namespace kube-system, which every cluster has and none shares.

        Raises:
            NotSyncedError: the namespaces have not been loaded.
        """
        system = self._namespaces.objects.get(SYSTEM_NAMESPACE)
        if system is None or not system.uid:
            raise NotSyncedError(f"Namespace {SYSTEM_NAMESPACE} has not been loaded")
        return system.uid

    def access_reviews(self) -> Mapping[str, int]:
        """Return how many access reviews were answered from memory, asked, failed."""
        cache = self.access
        return {"hit": cache.hits, "miss": cache.misses, "error": cache.errors}

    def profiles(self) -> ProfileSet:
        """Return the profiles in force.

        Raises:
            NotSyncedError: they have not been loaded, or the watch has been down too long.
        """
        self._profiles.require()
        if self._profile_set is None:
            raise NotSyncedError(f"version of the cluster: {self._version_error}")
        return self._profile_set

    async def namespace(self, name: str) -> Namespace:
        """Return a namespace; one that is new is waited for.

        Raises:
            NotSyncedError: it is unknown, or the watch has been down too long.
            InvalidObjectError: the name is empty.
        """
        if not name:
            raise InvalidObjectError("review", "namespace", "is empty: name the object's namespace")
        self._namespaces.require()
        wait_s = self._settings.namespace_wait_s
        try:
            async with asyncio.timeout(wait_s):
                while (found := self._namespaces.objects.get(name)) is None:
                    await self._namespace_changed.wait()
        except TimeoutError:
            message = f"namespace {name} is not known yet, after a wait of {wait_s:g} s: try again"
            raise NotSyncedError(message) from None
        return found

    def remembered_access(
        self, subject: Subject, verb: str, resource: str, name: str, namespace: str
    ) -> bool | None:
        """Return the remembered answer of `allowed`; None where the cluster must be asked."""
        return self.access.remembered_access(
            AccessQuestion(subject, verb, resource, name, namespace)
        )

    async def allowed(
        self, subject: Subject, verb: str, resource: str, name: str, namespace: str
    ) -> bool:
        """Return whether the cluster lets `subject` do `verb` on a Sallyport resource.

        Raises:
            AccessReviewError: the cluster did not say.
        """
        question = AccessQuestion(subject, verb, resource, name, namespace)
        return await self.access.allowed(question)

    async def owner(
        self, namespace: str, reference: OwnerReference, *, fresh: bool = False
    ) -> OwnerObject | None:
        """Return an owner, remembered for a few seconds; None where it is not there.

        Raises:
            OwnerUnknownError: the cluster did not say.
        """
        return await self._owners.owner(namespace, reference, fresh=fresh)

    def _take_profiles(self, objects: Mapping[str, ContainerProfile | BrokenProfile]) -> None:
        read = objects.items()
        broken = {name: one.problem for name, one in read if isinstance(one, BrokenProfile)}
        for name, problem in broken.items():
            if self._broken.get(name) != problem:
                _log.error("ContainerProfile is left out", profile=name, problem=problem)
        self._broken = broken
        self._sound = [one for _, one in read if isinstance(one, ContainerProfile)]
        self._build()

    def _take_namespaces(self, _: Mapping[str, Namespace]) -> None:
        self._namespace_changed.set()
        self._namespace_changed.clear()

    def _build(self) -> None:
        """Put the profiles in force, once they and the cluster's version are known."""
        if self._sound is not None and self._version is not None:
            problems = [self._broken[name] for name in sorted(self._broken)]
            self._profile_set = build_profile_set(self._sound, self._version, problems)

    async def _follow_version(self) -> None:
        """Keep the cluster's version; an older one stays in force while it cannot be read."""
        settings = self._settings
        while True:
            try:
                version = await read_version(self._connection, settings.request_timeout_s)
            except (ClusterError, InvalidObjectError, msgspec.DecodeError) as error:
                self._version_error = str(error)
                _log.warning("version of the cluster cannot be read", error=str(error))
                await asyncio.sleep(RETRY_S)
                continue
            if version != self._version:
                self._version = version
                self._build()
            await asyncio.sleep(settings.version_age_s)
