"""Pods that somebody enters: one GET for each, never remembered, since what runs may change."""

import asyncio
from http import HTTPStatus
from typing import Final

from core.decoding import UNREADABLE, unreadable
from core.errors import ClusterError, PodUnknownError
from core.pod import Pod, decode_pod
from kube.connection import Connection
from kube.settings import LiveSettings

_NO_SEGMENT: Final = frozenset("/%?#\\ ")


class PodGets:
    """Gets Pods, so many at a time and no longer."""

    def __init__(self, connection: Connection, settings: LiveSettings) -> None:
        self._connection = connection
        self._timeout_s = settings.review_timeout_s
        self._turns = asyncio.Semaphore(settings.reviews_in_flight)

    async def get(self, namespace: str, name: str) -> Pod | None:
        """Get a Pod as etcd has it now; None where there is none.

        Raises:
            PodUnknownError: no answer in time, or a failure.
            InvalidObjectError: what came is no Pod.
        """
        if not _may_exist(namespace) or not _may_exist(name):
            return None
        path = f"/api/v1/namespaces/{namespace}/pods/{name}"
        try:
            async with asyncio.timeout(self._timeout_s), self._turns:
                body = await self._body(path)
        except TimeoutError:
            why = f"no answer in {self._timeout_s:g} s"
            raise PodUnknownError(f"the cluster did not give the Pod: {why}") from None
        except ClusterError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                return None
            raise PodUnknownError(f"the cluster did not give the Pod: {error}") from error
        return read_pod(body)

    async def _body(self, path: str) -> bytes:
        try:
            return await self._connection.get(path, self._timeout_s, {})
        except ClusterError as error:
            if error.status:
                raise
            # A kept connection may have been closed meanwhile.
            return await self._connection.get(path, self._timeout_s, {})


def read_pod(raw: bytes) -> Pod:
    """Decode a Pod.

    Raises:
        InvalidObjectError: it does not have a Pod's shape.
    """
    try:
        return decode_pod(raw)
    except UNREADABLE as error:
        raise unreadable("Pod", error) from error


def _may_exist(name: str) -> bool:
    """Say whether an object can have this name, which comes from a URL and becomes part of one."""
    return bool(name.strip(".")) and not set(name) & _NO_SEGMENT
