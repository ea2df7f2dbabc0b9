"""The Secrets that a risk snapshot is stored in: the head, and the shards that it names."""

import asyncio
from collections.abc import Mapping
from typing import Final

import msgspec

from core.base.errors import InvalidObjectError
from core.base.json_errors import DECODE_ERRORS
from core.risk.columns import Shard, SnapshotBase
from core.risk.snapshot import RiskSnapshot
from core.risk.snapshot_storage import (
    HEAD_NAME,
    SHARD_KEY,
    StoredHead,
    decode_head,
    decode_shard,
    shard_name,
    snapshot_of,
)
from kube.client.objects import Objects
from kube.leader.lease import Leadership
from kube.resources.secrets import OPAQUE, Secret, Secrets

SecretContent = Mapping[str, bytes]
"""The `data` of a Secret; empty where it has no such shape."""


class _Secret(msgspec.Struct):
    data: dict[str, bytes] | None = None


_DECODER: Final = msgspec.json.Decoder(_Secret)


class RiskSecrets:
    """Reads and writes them in Sallyport's namespace; shards are remembered by their digests."""

    def __init__(self, objects: Objects, namespace: str) -> None:
        self._secrets = Secrets(objects, namespace)
        self._shards: dict[str, Shard] = {}

    async def read(self, name: str) -> Secret | None:
        """Give one; None where there is none. As `kube.secrets.Secrets.read`."""
        return await self._secrets.read(name)

    async def write(
        self,
        name: str,
        before: Secret | None,
        content: SecretContent,
        leadership: Leadership | None,
    ) -> Secret:
        """Create or change one, as `kube.secrets.Secrets.write`, and give it as it is now."""
        return await self._secrets.write(leadership, name, before, content, OPAQUE)

    async def base(self, stored: StoredHead) -> SnapshotBase:
        """Give the base that a head names; a shard whose digest is known is not read again.

        Raises:
            InvalidObjectError: a shard is missing, or is not the one that the head names: the
                head has changed meanwhile, or the shard is broken.
            ClusterError: as `read`.
        """
        if not stored.generation:
            self._shards = {}
            return SnapshotBase()
        found = {}
        for number, digest in enumerate(stored.shards):
            shard = self._shards.get(digest)
            if shard is None:
                name = shard_name(stored.generation, number)
                secret = await self.read(name)
                if secret is None:
                    raise InvalidObjectError(f"Secret {name}", "", "is missing")
                content = secret.content.get(SHARD_KEY, b"")
                shard = await asyncio.to_thread(decode_shard, content, digest)
            found[digest] = shard
        self._shards = found
        return SnapshotBase(tuple(found[digest] for digest in stored.shards))

    def remember(self, digests: tuple[str, ...], base: SnapshotBase) -> None:
        """Keep the shards that were just written."""
        self._shards = dict(zip(digests, base.shards, strict=True))


def parse_content(raw: bytes | msgspec.Raw) -> SecretContent:
    """Give what a Secret holds; nothing where it has no such shape, which `decode_head` says."""
    try:
        return _DECODER.decode(raw).data or {}
    except DECODE_ERRORS:
        return {}


def snapshot_in(secrets: Mapping[str, SecretContent]) -> RiskSnapshot | None:
    """Give the snapshot of Secrets, by name; None where there is no head.

    Raises:
        InvalidObjectError: one is broken, or a shard is missing.
    """
    if HEAD_NAME not in secrets:
        return None
    stored = decode_head(secrets[HEAD_NAME])
    if not stored.generation:
        return snapshot_of(stored, SnapshotBase())
    names_of = [shard_name(stored.generation, number) for number in range(len(stored.shards))]
    contents = [secrets.get(name, {}).get(SHARD_KEY, b"") for name in names_of]
    shards = tuple(map(decode_shard, contents, stored.shards))
    return snapshot_of(stored, SnapshotBase(shards))
