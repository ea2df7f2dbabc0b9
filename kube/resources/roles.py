"""Roles that bindings give: one GET for each, never remembered, since roles change."""

from typing import Final

import msgspec

from core.base.errors import ClusterError, RoleUnknownError
from core.kubernetes.roles import RoleRule
from kube.client.connection import Connection
from kube.client.settings import LiveSettings
from kube.resources.lookups import Gets, may_exist

_GROUP: Final = "/apis/rbac.authorization.k8s.io/v1"


class _Meta(msgspec.Struct):
    name: str


class _Role(msgspec.Struct):
    metadata: _Meta
    """Demanded: an answer that is something else must not be a role without rules."""
    rules: list[RoleRule] | None = None


class RoleGets:
    """Gets roles, so many at a time and no longer."""

    def __init__(self, connection: Connection, settings: LiveSettings) -> None:
        self._gets = Gets(connection, settings)

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
            body = await self._gets.get(f"{_GROUP}{place}/{name}")
            if body is None:
                return None
            return tuple(msgspec.json.decode(body, type=_Role).rules or ())
        except ClusterError as error:
            raise RoleUnknownError(f"{what}: {error}") from error
        except msgspec.DecodeError as error:
            raise RoleUnknownError(f"{what}: the answer is no role: {error}") from None
