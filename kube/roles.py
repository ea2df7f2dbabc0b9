"""Roles that bindings give: one GET for each, never remembered, since roles change."""

import asyncio
from http import HTTPStatus
from typing import Final

import msgspec

from core.errors import ClusterError, RoleUnknownError
from core.roles import RoleRule
from kube.connection import Connection
from kube.settings import LiveSettings

_GROUP: Final = "/apis/rbac.authorization.k8s.io/v1"
_NO_SEGMENT: Final = frozenset("/%?#\\ ")


class _Meta(msgspec.Struct):
    name: str


class _Role(msgspec.Struct):
    metadata: _Meta
    """Demanded: an answer that is something else must not be a role without rules."""
    rules: list[RoleRule] | None = None


class RoleGets:
    """Gets roles, so many at a time and no longer."""

    def __init__(self, connection: Connection, settings: LiveSettings) -> None:
        self._connection = connection
        self._timeout_s = settings.review_timeout_s
        self._turns = asyncio.Semaphore(settings.reviews_in_flight)

    async def get(self, kind: str, namespace: str, name: str) -> tuple[RoleRule, ...] | None:
        """Get the rules of a Role or ClusterRole; None where there is none.

        Raises:
            RoleUnknownError: no answer in time, a failure, or something that is no role.
        """
        if not _may_exist(name) or (kind == "Role" and not _may_exist(namespace)):
            return None
        place = f"/namespaces/{namespace}/roles" if kind == "Role" else "/clusterroles"
        what = f"the cluster did not give the {kind}"
        try:
            async with asyncio.timeout(self._timeout_s), self._turns:
                body = await self._body(f"{_GROUP}{place}/{name}")
            return tuple(msgspec.json.decode(body, type=_Role).rules or ())
        except TimeoutError:
            raise RoleUnknownError(f"{what}: no answer in {self._timeout_s:g} s") from None
        except ClusterError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                return None
            raise RoleUnknownError(f"{what}: {error}") from error
        except msgspec.DecodeError as error:
            raise RoleUnknownError(f"{what}: the answer is no role: {error}") from None

    async def _body(self, path: str) -> bytes:
        try:
            return await self._connection.get(path, self._timeout_s, {})
        except ClusterError as error:
            if error.status:
                raise
            # A kept connection may have been closed meanwhile.
            return await self._connection.get(path, self._timeout_s, {})


def _may_exist(name: str) -> bool:
    """Say whether an object can have this name, which comes from an object and becomes a URL's."""
    return bool(name.strip(".")) and not set(name) & _NO_SEGMENT
