"""Single GETs while a review waits, limited in number and time: Pods and roles by name.

Nothing is remembered: what runs, and what a role gives, may change. A GET that a broken connection
ended is tried a second time.
"""

import asyncio
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

import msgspec

from core.base.errors import ClusterError, OverloadError, PodUnknownError, RoleUnknownError
from core.base.fair_queue import FairQueue, Flow
from core.kubernetes.object_meta import NameMeta
from core.kubernetes.pod import Pod, decode_pod
from core.kubernetes.roles import RoleRule
from kube.client.settings import LiveSettings

if TYPE_CHECKING:  # It imports aiohttp and kubernetes: not for a folder's sake.
    from kube.client.connection import Connection

_MOST_WAITING: Final = 256
"""Of one namespace."""

_NO_SEGMENT: Final = frozenset("/%?#\\ ")

_GROUP: Final = "/apis/rbac.authorization.k8s.io/v1"


class ObjectLookup:
    """Gets what lies at paths of kube-apiserver."""

    def __init__(self, connection: "Connection", settings: LiveSettings) -> None:
        self._connection = connection
        self._timeout_s = settings.review_timeout_s
        self._turns = FairQueue(settings.reviews_in_flight, _MOST_WAITING)

    async def get(
        self, path: str, namespace: str, *, accept: str = "application/json"
    ) -> bytes | None:
        """Return what lies at a path, in the form that `accept` names; None where nothing does.

        Gets for one namespace wait for each other before those for others wait for them.

        Raises:
            ClusterError: no answer in time, or a failure.
        """
        try:
            async with asyncio.timeout(self._timeout_s), self._turns.seat(Flow(namespace)):
                return await self._body(path, accept)
        except TimeoutError:
            raise ClusterError(f"no answer in {self._timeout_s:g} s") from None
        except OverloadError as error:
            raise ClusterError(str(error)) from None
        except ClusterError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                return None
            raise

    async def _body(self, path: str, accept: str) -> bytes:
        try:
            return await self._connection.get(path, self._timeout_s, {}, accept=accept)
        except ClusterError as error:
            if error.status:
                raise
            # A kept connection may have been closed meanwhile.
            return await self._connection.get(path, self._timeout_s, {}, accept=accept)


def may_exist(name: str) -> bool:
    """Return whether an object can have a name that somebody wrote and that becomes part of a path.

    Names are path segments (apimachinery, pkg/api/validation/path).
    """
    return bool(name.strip(".")) and not set(name) & _NO_SEGMENT


class PodLookup:
    """Gets Pods, so many at a time and no longer."""

    def __init__(self, connection: "Connection", settings: LiveSettings) -> None:
        self._gets = ObjectLookup(connection, settings)

    async def get(self, namespace: str, name: str) -> Pod | None:
        """Get a Pod as etcd has it now; None where there is none.

        Raises:
            PodUnknownError: no answer in time, or a failure.
            InvalidObjectError: what came is no Pod.
        """
        if not may_exist(namespace) or not may_exist(name):
            return None
        try:
            path = f"/api/v1/namespaces/{namespace}/pods/{name}"
            body = await self._gets.get(path, namespace)
        except ClusterError as error:
            raise PodUnknownError(f"the cluster did not give the Pod: {error}") from error
        return None if body is None else decode_pod(body)


class _Role(msgspec.Struct):
    metadata: NameMeta
    """Demanded: an answer that is something else must not be a role without rules."""
    rules: list[RoleRule] | None = None


class RoleLookup:
    """Gets roles, so many at a time and no longer."""

    def __init__(self, connection: "Connection", settings: LiveSettings) -> None:
        self._gets = ObjectLookup(connection, settings)

    async def get(self, kind: str, namespace: str, name: str) -> tuple[RoleRule, ...] | None:
        """Get the rules of a Role or ClusterRole; None where there is none.

        Raises:
            RoleUnknownError: no answer in time, a failure, or something that is no role.
        """
        if not may_exist(name) or (kind == "Role" and not may_exist(namespace)):
            return None
        place = f"/namespaces/{namespace}/roles" if kind == "Role" else "/clusterroles"
        what = f"the cluster did not give the {kind}"
        try:
            body = await self._gets.get(f"{_GROUP}{place}/{name}", namespace)
            if body is None:
                return None
            return tuple(msgspec.json.decode(body, type=_Role).rules or ())
        except ClusterError as error:
            raise RoleUnknownError(f"{what}: {error}") from error
        except msgspec.DecodeError as error:
            raise RoleUnknownError(f"{what}: the answer is no role: {error}") from None
