"""A risk store on a real kube-apiserver, and what goes wrong with it."""

import hashlib
import uuid
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

from core.risk.model import RiskEntry, RiskLevel, RiskSource, RiskState, identity_key
from core.risk.snapshot import SnapshotDraft
from kube.client.connection import Connection
from kube.client.objects import Objects
from kube.risk.store import Change, RiskStore
from tests.harness.programs.apiserver import ApiServer

NOW: Final = 1_790_000_000


class KilledError(BaseException):
    """The process ended here: nothing catches it."""


class Mortal(Objects):
    """Objects of a process that is killed at a write: before it, or right after."""

    def __init__(self, connection: Connection, last: int, *, sent: bool) -> None:
        super().__init__(connection)
        self._left = last
        self._sent = sent

    async def create(self, collection: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Create, unless the time has come."""
        self._count()
        answer = await super().create(collection, body)
        self._die()
        return answer

    async def merge(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Merge, unless the time has come."""
        self._count()
        answer = await super().merge(path, body)
        self._die()
        return answer

    def _count(self) -> None:
        self._left -= 1
        if self._left < 0 and not self._sent:
            raise KilledError

    def _die(self) -> None:
        if self._left < 0:
            raise KilledError


@asynccontextmanager
async def connected(server: ApiServer) -> AsyncIterator[Connection]:
    """Yield a connection with all rights."""
    connection = Connection(server.kubeconfig())
    await connection.open()
    try:
        yield connection
    finally:
        await connection.close()


@asynccontextmanager
async def store(server: ApiServer, namespace: str) -> AsyncIterator[RiskStore]:
    """Yield a store of its own process, so to speak."""
    async with connected(server) as connection:
        yield RiskStore(Objects(connection), namespace, lambda: NOW)


def risky(number: int, updated: int = NOW) -> Change:
    """Return the change by which one more person is at risk."""

    def change(draft: SnapshotDraft) -> None:
        entry = RiskEntry(
            level=RiskLevel.HIGH,
            state=RiskState.AT_RISK,
            updated=updated,
            since=updated,
            event_id=hashlib.sha256(str(number).encode()).hexdigest(),
        )
        draft.put(RiskSource.ENTRA, identity_key(oid(number)), entry)

    return change


def many(first: int, count: int) -> Change:
    """Return the change by which so many more are."""

    def change(draft: SnapshotDraft) -> None:
        for number in range(first, first + count):
            risky(number)(draft)

    return change


def oid(number: int) -> str:
    """Return the label of a person."""
    return f"oid:{uuid.uuid5(uuid.NAMESPACE_OID, str(number))}"
