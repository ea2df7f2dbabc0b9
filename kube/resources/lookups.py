"""GETs while a review waits: so many at a time and no longer, and a second try where one broke."""

import asyncio
from http import HTTPStatus
from typing import Final

from core.base.errors import ClusterError
from kube.client.connection import Connection
from kube.client.settings import LiveSettings

_NO_SEGMENT: Final = frozenset("/%?#\\ ")


class Gets:
    """Gets what lies at paths of kube-apiserver."""

    def __init__(self, connection: Connection, settings: LiveSettings) -> None:
        self._connection = connection
        self._timeout_s = settings.review_timeout_s
        self._turns = asyncio.Semaphore(settings.reviews_in_flight)

    async def get(self, path: str, *, accept: str = "application/json") -> bytes | None:
        """Give what lies at a path, in the form that `accept` names; None where nothing does.

        Raises:
            ClusterError: no answer in time, or a failure.
        """
        try:
            async with asyncio.timeout(self._timeout_s), self._turns:
                return await self._body(path, accept)
        except TimeoutError:
            raise ClusterError(f"no answer in {self._timeout_s:g} s") from None
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
    """Say whether an object can have a name that somebody wrote, and that becomes part of a path.

    Names are path segments (apimachinery, pkg/api/validation/path).
    """
    return bool(name.strip(".")) and not set(name) & _NO_SEGMENT
