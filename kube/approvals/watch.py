"""PolicyExceptions, BreakGlasses and their approvals in memory.

They are found by namespace and by what is approved. 2,000 exceptions with two approvals each take
about 5 MB, a hundred BreakGlasses about 300 kB.
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Final

import msgspec

from core.approvals.approvals import CLUSTER_KIND, Approval, parse_approval
from core.approvals.break_glass import KIND, BreakGlass, parse_break_glass
from core.approvals.exceptions import PolicyException, parse_exception
from core.base import names
from core.base.errors import ClusterError, InvalidObjectError, NotSyncedError
from core.people.two_person import Consent
from kube.client.objects import Objects
from kube.client.settings import LiveSettings
from kube.watch.listwatch import Resource
from kube.watch.statuses import ApprovedKindWatch

if TYPE_CHECKING:  # It imports aiohttp and kubernetes: not for a folder's sake.
    from kube.client.connection import Connection

EXCEPTIONS_PATH: Final = f"/apis/{names.API_VERSION}/{names.EXCEPTIONS_RESOURCE}"
APPROVALS_PATH: Final = f"/apis/{names.API_VERSION}/{names.APPROVALS_RESOURCE}"
BREAK_GLASSES_PATH: Final = f"/apis/{names.API_VERSION}/{names.BREAK_GLASSES_RESOURCE}"
CLUSTER_APPROVALS_PATH: Final = f"/apis/{names.API_VERSION}/{names.CLUSTER_APPROVALS_RESOURCE}"

_ROOT: Final = f"/apis/{names.API_VERSION}/namespaces"
_NO_EXCEPTIONS: Final[tuple[PolicyException, ...]] = ()
_NO_BREAK_GLASSES: Final[tuple[BreakGlass, ...]] = ()


def exceptions_path(namespace: str) -> str:
    """Return the path of a namespace's exceptions."""
    return f"{_ROOT}/{namespace}/{names.EXCEPTIONS_RESOURCE}"


def approvals_path(namespace: str) -> str:
    """Return the path of a namespace's approvals."""
    return f"{_ROOT}/{namespace}/{names.APPROVALS_RESOURCE}"


class Exceptions:
    """The exceptions of a cluster, and the approvals in the namespaces of what they approve.

    By itself it is what a folder of YAML holds, as a cluster wrote it.
    """

    def __init__(
        self, exceptions: Iterable[PolicyException] = (), approvals: Iterable[Approval] = ()
    ) -> None:
        self._by_namespace: dict[str, tuple[PolicyException, ...]] = {}
        self._consents: dict[tuple[str, str], tuple[Consent, ...]] = {}
        self.take_exceptions(exceptions)
        self.take_approvals(approvals)

    def take_exceptions(self, exceptions: Iterable[PolicyException]) -> None:
        """Take all exceptions as they are now."""
        found = defaultdict(list)
        for each in exceptions:
            found[each.meta.namespace].append(each)
        self._by_namespace = {
            namespace: tuple(sorted(some, key=lambda one: one.meta.name))
            for namespace, some in found.items()
        }

    def take_approvals(self, approvals: Iterable[Approval]) -> None:
        """Take all approvals as they are now; one that the webhook has not recorded is none."""
        found = defaultdict(list)
        for each in approvals:
            if each.consent is not None:
                found[each.meta.namespace, each.consent.uid].append(each.consent)
        self._consents = {key: tuple(consents) for key, consents in found.items()}

    def everywhere(self) -> list[PolicyException]:
        """Return all of them, by namespace and name."""
        return [each for _, some in sorted(self._by_namespace.items()) for each in some]

    def in_namespace(self, namespace: str) -> tuple[PolicyException, ...]:
        """Return the exceptions of a namespace, by name, whether in force or not."""
        return self._by_namespace.get(namespace, _NO_EXCEPTIONS)

    def consents(self, namespace: str, uid: str) -> tuple[Consent, ...]:
        """Return the approvals of an object of a namespace."""
        return self._consents.get((namespace, uid), ())

    async def read(self, namespace: str, name: str) -> PolicyException | None:
        """Return one exception."""
        found = self.in_namespace(namespace)
        return next((each for each in found if each.meta.name == name), None)


class WatchedExceptions:
    """The exceptions and approvals of a real cluster, kept by two watches.

    A cluster without the definitions has none: then nothing is excused, and the gate works as it
    did. Neither watch is waited for at the start: without them more is refused, never less.
    """

    def __init__(self, connection: "Connection", settings: LiveSettings) -> None:
        self._reads = Objects(connection, settings.review_timeout_s)
        self._known = Exceptions()
        self.objects = ApprovedKindWatch(
            connection,
            settings,
            Resource("PolicyExceptions", EXCEPTIONS_PATH, parse_exception),
            self._known.take_exceptions,
        )
        self.approvals = ApprovedKindWatch(
            connection,
            settings,
            Resource("Approvals", APPROVALS_PATH, parse_approval),
            self._known.take_approvals,
        )

    @property
    def tried(self) -> bool:
        """Whether they were loaded, or could not be at first."""
        return self.objects.tried and self.approvals.tried

    async def run(self) -> None:
        """Keep both until cancelled."""
        await asyncio.gather(self.objects.run(), self.approvals.run())

    def everywhere(self) -> list[PolicyException]:
        """Return all of them.

        Raises:
            NotSyncedError: as `in_namespace`.
        """
        if self.objects.unserved:
            return []
        self.objects.require()
        return self._known.everywhere()

    def in_namespace(self, namespace: str) -> tuple[PolicyException, ...]:
        """Return the exceptions of a namespace.

        Raises:
            NotSyncedError: they have not been loaded, or the watch has been down too long.
        """
        if self.objects.unserved:
            return _NO_EXCEPTIONS
        self.objects.require()
        return self._known.in_namespace(namespace)

    def consents(self, namespace: str, uid: str) -> tuple[Consent, ...]:
        """Return the approvals of an object.

        Raises:
            NotSyncedError: as `in_namespace`.
        """
        if self.approvals.unserved:
            return ()
        self.approvals.require()
        return self._known.consents(namespace, uid)

    async def read(self, namespace: str, name: str) -> PolicyException | None:
        """Return one exception as it is now: one GET.

        Raises:
            NotSyncedError: the cluster did not say, or in a way that cannot be read.
        """
        try:
            found = await self._reads.get(f"{exceptions_path(namespace)}/{name}")
            return parse_exception(msgspec.json.encode(found)) if found else None
        except (ClusterError, InvalidObjectError) as error:
            raise NotSyncedError(f"PolicyException {namespace}/{name}: {error}") from error


class BreakGlasses:
    """The BreakGlasses of a cluster, and their approvals.

    By itself it is what a folder of YAML holds, as a cluster wrote it.
    """

    def __init__(
        self, found: Iterable[BreakGlass] = (), approvals: Iterable[Approval] = ()
    ) -> None:
        self._all: tuple[BreakGlass, ...] = ()
        self._activated: dict[str, tuple[BreakGlass, ...]] = {}
        self._consents: dict[str, tuple[Consent, ...]] = {}
        self.take(found)
        self.take_approvals(approvals)

    def take(self, found: Iterable[BreakGlass]) -> None:
        """Take all BreakGlasses as they are now."""
        self._all = tuple(sorted(found, key=lambda one: one.meta.name))
        activated = defaultdict(list)
        for each in self._all:
            for namespace in set(each.spec.namespaces) if each.began is not None else ():
                activated[namespace].append(each)
        self._activated = {namespace: tuple(some) for namespace, some in activated.items()}

    def take_approvals(self, approvals: Iterable[Approval]) -> None:
        """Take all approvals as they are now; one that the webhook has not recorded is none."""
        found = defaultdict(list)
        for each in approvals:
            if each.consent is not None:
                found[each.consent.uid].append(each.consent)
        self._consents = {uid: tuple(consents) for uid, consents in found.items()}

    def everywhere(self) -> tuple[BreakGlass, ...]:
        """Return all of them, by name."""
        return self._all

    def activated_in(self, namespace: str) -> tuple[BreakGlass, ...]:
        """Return those that were activated and name a namespace, whether in force still or not."""
        return self._activated.get(namespace, _NO_BREAK_GLASSES)

    def consents(self, uid: str) -> tuple[Consent, ...]:
        """Return the approvals of one."""
        return self._consents.get(uid, ())

    async def read(self, name: str) -> BreakGlass | None:
        """Return one."""
        return next((each for each in self._all if each.meta.name == name), None)


class WatchedBreakGlasses:
    """Those of a real cluster, kept by two watches, as `WatchedExceptions`."""

    def __init__(self, connection: "Connection", settings: LiveSettings) -> None:
        self._reads = Objects(connection, settings.review_timeout_s)
        self._known = BreakGlasses()
        self.objects = ApprovedKindWatch(
            connection,
            settings,
            Resource("BreakGlasses", BREAK_GLASSES_PATH, parse_break_glass),
            self._known.take,
        )
        parse = partial(parse_approval, kind=CLUSTER_KIND)
        self.approvals = ApprovedKindWatch(
            connection,
            settings,
            Resource("ClusterApprovals", CLUSTER_APPROVALS_PATH, parse),
            self._known.take_approvals,
        )

    @property
    def tried(self) -> bool:
        """Whether they were loaded, or could not be at first."""
        return self.objects.tried and self.approvals.tried

    async def run(self) -> None:
        """Keep both until cancelled."""
        await asyncio.gather(self.objects.run(), self.approvals.run())

    def everywhere(self) -> tuple[BreakGlass, ...]:
        """Return all of them.

        Raises:
            NotSyncedError: they have not been loaded, or the watch has been down too long.
        """
        if self.objects.unserved:
            return _NO_BREAK_GLASSES
        self.objects.require()
        return self._known.everywhere()

    def activated_in(self, namespace: str) -> tuple[BreakGlass, ...]:
        """Return those that were activated and name a namespace.

        Raises:
            NotSyncedError: as `everywhere`.
        """
        if self.objects.unserved:
            return _NO_BREAK_GLASSES
        self.objects.require()
        return self._known.activated_in(namespace)

    def consents(self, uid: str) -> tuple[Consent, ...]:
        """Return the approvals of one.

        Raises:
            NotSyncedError: as `everywhere`.
        """
        if self.approvals.unserved:
            return ()
        self.approvals.require()
        return self._known.consents(uid)

    async def read(self, name: str) -> BreakGlass | None:
        """Return one as it is now: one GET.

        Raises:
            NotSyncedError: the cluster did not say, or in a way that cannot be read.
        """
        try:
            found = await self._reads.get(f"{BREAK_GLASSES_PATH}/{name}")
            return parse_break_glass(msgspec.json.encode(found)) if found else None
        except (ClusterError, InvalidObjectError) as error:
            raise NotSyncedError(f"{KIND} {name}: {error}") from error
