"""BreakGlasses and ClusterApprovals in memory, found by namespace and by what is approved.

A cluster has few: a hundred take about 300 kB.
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterable
from functools import partial
from typing import Final

import msgspec

from core.approvals.approvals import CLUSTER_KIND, Approval, parse_approval
from core.approvals.break_glass import KIND, BreakGlass, parse_break_glass
from core.base import names
from core.base.errors import ClusterError, InvalidObjectError, NotSyncedError
from core.people.two_person import Consent
from kube.client.connection import Connection
from kube.client.objects import Objects
from kube.client.settings import LiveSettings
from kube.watch.listwatch import ListWatch, Resource
from kube.watch.watched import leaving_out

BREAK_GLASSES_PATH: Final = f"/apis/{names.API_VERSION}/{names.BREAK_GLASSES_RESOURCE}"
CLUSTER_APPROVALS_PATH: Final = f"/apis/{names.API_VERSION}/{names.CLUSTER_APPROVALS_RESOURCE}"

_NONE: Final[tuple[BreakGlass, ...]] = ()


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
        """Give all of them, by name."""
        return self._all

    def activated_in(self, namespace: str) -> tuple[BreakGlass, ...]:
        """Give those that were activated and name a namespace, whether in force still or not."""
        return self._activated.get(namespace, _NONE)

    def consents(self, uid: str) -> tuple[Consent, ...]:
        """Give the approvals of one."""
        return self._consents.get(uid, ())

    async def read(self, name: str) -> BreakGlass | None:
        """Give one."""
        return next((each for each in self._all if each.meta.name == name), None)


class WatchedBreakGlasses:
    """Those of a real cluster, kept by two watches, as `kube.approvals.watch.WatchedExceptions`."""

    def __init__(self, connection: Connection, settings: LiveSettings) -> None:
        self._objects = Objects(connection, settings.review_timeout_s)
        self._known = BreakGlasses()
        self._watch = ListWatch(
            connection,
            Resource("BreakGlasses", BREAK_GLASSES_PATH, leaving_out(parse_break_glass)),
            lambda found: self._known.take(found.values()),
            settings,
        )
        parse = partial(parse_approval, kind=CLUSTER_KIND)
        self._approvals = ListWatch(
            connection,
            Resource("ClusterApprovals", CLUSTER_APPROVALS_PATH, leaving_out(parse)),
            lambda found: self._known.take_approvals(found.values()),
            settings,
        )

    @property
    def tried(self) -> bool:
        """Whether they were loaded, or could not be at first."""
        return self._watch.tried and self._approvals.tried

    async def run(self) -> None:
        """Keep both until cancelled."""
        await asyncio.gather(self._watch.run(), self._approvals.run())

    def everywhere(self) -> tuple[BreakGlass, ...]:
        """Give all of them.

        Raises:
            NotSyncedError: they have not been loaded, or the watch has been down too long.
        """
        if self._watch.unserved:
            return _NONE
        self._watch.require()
        return self._known.everywhere()

    def activated_in(self, namespace: str) -> tuple[BreakGlass, ...]:
        """Give those that were activated and name a namespace.

        Raises:
            NotSyncedError: as `everywhere`.
        """
        if self._watch.unserved:
            return _NONE
        self._watch.require()
        return self._known.activated_in(namespace)

    def consents(self, uid: str) -> tuple[Consent, ...]:
        """Give the approvals of one.

        Raises:
            NotSyncedError: as `everywhere`.
        """
        if self._approvals.unserved:
            return ()
        self._approvals.require()
        return self._known.consents(uid)

    async def read(self, name: str) -> BreakGlass | None:
        """Give one as it is now: one GET.

        Raises:
            NotSyncedError: the cluster did not say, or in a way that cannot be read.
        """
        try:
            found = await self._objects.get(f"{BREAK_GLASSES_PATH}/{name}")
            return parse_break_glass(msgspec.json.encode(found)) if found else None
        except (ClusterError, InvalidObjectError) as error:
            raise NotSyncedError(f"{KIND} {name}: {error}") from error
