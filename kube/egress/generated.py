"""The NetworkPolicies that Sallyport made in a namespace, as they are now: one LIST, for few."""

from typing import Final

import msgspec

from core.base import names
from core.base.errors import ClusterError, NotSyncedError
from kube.client.connection import Connection
from kube.client.objects import Objects
from kube.client.paging import each
from kube.client.settings import LiveSettings
from kube.egress.network_policies import PLURALS, POLICY_PATHS
from kube.resources.lookups import may_exist

_KIND: Final = "NetworkPolicy"
_OURS: Final = {"labelSelector": f"{names.MANAGED_BY_LABEL}=sallyport"}


class GeneratedLists:
    """Lists those of a real cluster."""

    def __init__(self, connection: Connection, settings: LiveSettings) -> None:
        self._objects = Objects(connection, settings.review_timeout_s)

    async def list(self, namespace: str) -> tuple[msgspec.Raw, ...]:
        """Give the JSON of each.

        Raises:
            NotSyncedError: the cluster did not say.
        """
        if not may_exist(namespace):
            return ()
        path = f"{POLICY_PATHS[_KIND]}/namespaces/{namespace}/{PLURALS[_KIND]}"
        try:
            return tuple([raw async for raw in each(self._objects, path, parameters=_OURS)])
        except ClusterError as error:
            message = f"the policies that Sallyport made in {namespace}: {error}"
            raise NotSyncedError(message) from error
