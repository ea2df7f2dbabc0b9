"""Pods that somebody enters: one GET for each, never remembered, since what runs may change."""

from core.base.errors import ClusterError, PodUnknownError
from core.kubernetes.pod import Pod, decode_pod
from kube.client.connection import Connection
from kube.client.settings import LiveSettings
from kube.resources.lookups import Gets, may_exist


class PodGets:
    """Gets Pods, so many at a time and no longer."""

    def __init__(self, connection: Connection, settings: LiveSettings) -> None:
        self._gets = Gets(connection, settings)

    async def get(self, namespace: str, name: str) -> Pod | None:
        """Get a Pod as etcd has it now; None where there is none.

        Raises:
            PodUnknownError: no answer in time, or a failure.
            InvalidObjectError: what came is no Pod.
        """
        if not may_exist(namespace) or not may_exist(name):
            return None
        try:
            body = await self._gets.get(f"/api/v1/namespaces/{namespace}/pods/{name}")
        except ClusterError as error:
            raise PodUnknownError(f"the cluster did not give the Pod: {error}") from error
        return None if body is None else decode_pod(body)
