"""PolicyExceptions and Approvals in memory, found by namespace and by what is approved.

2,000 exceptions with two approvals each take about 5 MB.
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterable
from typing import Final

import msgspec

from core.approvals.approvals import Approval, parse_approval
from core.approvals.exceptions import PolicyException, parse_exception
from core.base import names
from core.base.errors import ClusterError, InvalidObjectError, NotSyncedError
from core.people.two_person import Consent
from kube.client.connection import Connection
from kube.client.objects import Objects
from kube.client.settings import LiveSettings
from kube.watch.listwatch import ListWatch, Resource
from kube.watch.watched import leaving_out

EXCEPTIONS_PATH: Final = f"/apis/{names.API_VERSION}/{names.EXCEPTIONS_RESOURCE}"
APPROVALS_PATH: Final = f"/apis/{names.API_VERSION}/{names.APPROVALS_RESOURCE}"

_ROOT: Final = f"/apis/{names.API_VERSION}/namespaces"
_NONE: Final[tuple[PolicyException, ...]] = ()


def exceptions_path(namespace: str) -> str:
    """Give the path of a namespace's exceptions."""
    return f"{_ROOT}/{namespace}/{names.EXCEPTIONS_RESOURCE}"


def approvals_path(namespace: str) -> str:
    """Give the path of a namespace's approvals."""
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
        """Give all of them, by namespace and name."""
        return [each for _, some in sorted(self._by_namespace.items()) for each in some]

    def in_namespace(self, namespace: str) -> tuple[PolicyException, ...]:
        """Give the exceptions of a namespace, by name, whether in force or not."""
        return self._by_namespace.get(namespace, _NONE)

    def consents(self, namespace: str, uid: str) -> tuple[Consent, ...]:
        """Give the approvals of an object of a namespace."""
        return self._consents.get((namespace, uid), ())

    async def read(self, namespace: str, name: str) -> PolicyException | None:
        """Give one exception."""
        found = self.in_namespace(namespace)
        return next((each for each in found if each.meta.name == name), None)


class WatchedExceptions:
    """The exceptions and approvals of a real cluster, kept by two watches.

    A cluster without the definitions has none: then nothing is excused, and the gate works as it
    did. Neither watch is waited for at the start: without them more is refused, never less.
    """

    def __init__(self, connection: Connection, settings: LiveSettings) -> None:
        self._objects = Objects(connection, settings.review_timeout_s)
        self._known = Exceptions()
        self._exceptions = ListWatch(
            connection,
            Resource("PolicyExceptions", EXCEPTIONS_PATH, leaving_out(parse_exception)),
            lambda found: self._known.take_exceptions(found.values()),
            settings,
        )
        self._approvals = ListWatch(
            connection,
            Resource("Approvals", APPROVALS_PATH, leaving_out(parse_approval)),
            lambda found: self._known.take_approvals(found.values()),
            settings,
        )

    @property
    def tried(self) -> bool:
        """Whether they were loaded, or could not be at first."""
        return self._exceptions.tried and self._approvals.tried

    async def run(self) -> None:
        """Keep both until cancelled."""
        await asyncio.gather(self._exceptions.run(), self._approvals.run())

    def everywhere(self) -> list[PolicyException]:
        """Give all of them.

        Raises:
            NotSyncedError: as `in_namespace`.
        """
        if self._exceptions.unserved:
            return []
        self._exceptions.require()
        return self._known.everywhere()

    def in_namespace(self, namespace: str) -> tuple[PolicyException, ...]:
        """Give the exceptions of a namespace.

        Raises:
            NotSyncedError: they have not been loaded, or the watch has been down too long.
        """
        if self._exceptions.unserved:
            return _NONE
        self._exceptions.require()
        return self._known.in_namespace(namespace)

    def consents(self, namespace: str, uid: str) -> tuple[Consent, ...]:
        """Give the approvals of an object.

        Raises:
            NotSyncedError: as `in_namespace`.
        """
        if self._approvals.unserved:
            return ()
        self._approvals.require()
        return self._known.consents(namespace, uid)

    async def read(self, namespace: str, name: str) -> PolicyException | None:
        """Give one exception as it is now: one GET.

        Raises:
            NotSyncedError: the cluster did not say, or in a way that cannot be read.
        """
        try:
            found = await self._objects.get(f"{exceptions_path(namespace)}/{name}")
            return parse_exception(msgspec.json.encode(found)) if found else None
        except (ClusterError, InvalidObjectError) as error:
            raise NotSyncedError(f"PolicyException {namespace}/{name}: {error}") from error
