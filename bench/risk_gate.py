"""A gate's part that holds the risk snapshot, and kube-apiserver's answers from memory."""

import asyncio
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import msgspec

from core.base.errors import ClusterError
from core.risk.snapshot import RiskSnapshot
from core.risk.snapshot_storage import (
    HEAD_NAME,
    SHARD_KEY,
    build_head,
    encode_base,
    encode_head,
    shard_name,
)
from kube.client.connection import Connection
from kube.client.objects import Objects
from kube.client.settings import LiveSettings
from kube.risk.store import RiskSecrets
from kube.risk.watch import WatchedRisk


class Stored(Connection):
    """Answers GETs from memory, as kube-apiserver would."""

    def __init__(self) -> None:
        super().__init__(None)
        self.bodies: dict[str, bytes] = {}

    def put(self, snapshot: RiskSnapshot, generation: str) -> None:
        """Store a snapshot."""
        written = encode_base(snapshot.base.items())
        self._put(HEAD_NAME, encode_head(build_head(snapshot, generation, written.digests)))
        for number, content in enumerate(written.shards):
            self._put(shard_name(generation, number), {SHARD_KEY: content})

    def put_head(self, snapshot: RiskSnapshot, generation: str, digests: tuple[str, ...]) -> None:
        """Store a head over shards that are stored."""
        self._put(HEAD_NAME, encode_head(build_head(snapshot, generation, digests)))

    def _put(self, name: str, data: Mapping[str, bytes]) -> None:
        body = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": name, "resourceVersion": "1"},
            "data": data,
        }
        self.bodies[name] = msgspec.json.encode(body)

    async def get(self, path: str, *_: Any, **__: Any) -> bytes:
        """Return one, a moment later."""
        await asyncio.sleep(0.001)
        body = self.bodies.get(path.rpartition("/")[2])
        if body is None:
            raise ClusterError("there is none", HTTPStatus.NOT_FOUND)
        return body

    @property
    def sizes(self) -> list[int]:
        """Return the sizes of the Secrets as JSON."""
        return [len(each) for each in self.bodies.values()]


class Gate:
    """The part of a gate that holds the snapshot; `head` puts a head before it as a watch does."""

    def __init__(self, connection: Stored) -> None:
        settings = LiveSettings(namespace="s", risk=True)
        self.watched = WatchedRisk(connection, settings)
        self._secrets = RiskSecrets(Objects(connection), "s")
        self._stored = connection

    async def head(self) -> RiskSnapshot:
        """Take what is stored; it is in force when this returns."""
        secret = await self._secrets.read(HEAD_NAME)
        await self.watched.take(secret.content if secret else None)
        return self.watched.current() or RiskSnapshot()
