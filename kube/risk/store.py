"""The stored risk snapshot, in Secrets: the head, and the shards that it names.

`RiskStore` is the one way to read and to write it: several writers are safe.
The head is written with the resourceVersion that was read; who loses begins again with what the
other one wrote. When the changes in the head have grown many, everything is written into the
generation of shards that is not in use, and then the head points to it. Two writers never write
the same generation unnoticed, with no clock involved:

1. whoever rebases puts a nonce into the head;
2. reads the resourceVersions of the idle shards;
3. reads the head again, which must still hold the nonce: so nobody has begun a later rebase before
   step 2, and whoever begins one from now on changes all resourceVersions of step 2;
4. writes the idle shards as they were in step 2;
5. turns the head over, which must still hold the nonce.

A writer that stops in between leaves a nonce: another one takes over after `ABANDONED_S`, and what
the first one still writes is a conflict.
"""

import asyncio
import random
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

import msgspec
import structlog

from core.base.errors import ClusterError, InvalidObjectError
from core.base.json_errors import DECODE_ERRORS
from core.risk.columns import SHARDS, Shard, SnapshotBase
from core.risk.snapshot import FORMAT, Head, RiskSnapshot, SnapshotDraft, rebase_snapshot
from core.risk.snapshot_storage import (
    GENERATIONS,
    HEAD_NAME,
    SHARD_KEY,
    StoredBase,
    StoredHead,
    build_head,
    decode_head,
    decode_shard,
    encode_base,
    encode_head,
    is_newer,
    shard_name,
    snapshot_of,
    snapshot_without_base,
)
from kube.client.objects import Objects
from kube.leader.lease import Leadership
from kube.resources.secrets import OPAQUE, Secret, Secrets

SecretContent = Mapping[str, bytes]
"""The `data` of a Secret; empty where it has no such shape."""

MANY: Final = 64 * 1024
"""Bytes of changes in the head from which on all is written anew …"""

MANY_PER_RECORD: Final = 2.5
"""… or so many for each record of the base: a first pass over 100,000 users writes all of it some
thirty times, not a hundred."""

MOST: Final = 360 * 1024
"""Bytes of changes that the head never exceeds: with the table it stays below 1 MiB in base64."""

ABANDONED_S: Final = 60.0
"""From then on nobody waits for a rebase that another one began."""

ATTEMPTS: Final = 40
"""How often a write is begun again after a conflict."""

READS: Final = 3
"""How often what cannot be read is read again: the head may have been turned over meanwhile."""

Change = Callable[[SnapshotDraft], None]
"""Puts into a draft what is to be written. It is called again on what another one wrote."""

_WAIT_S: Final = 0.1
"""The longest wait between two attempts."""

_log = structlog.get_logger(__name__)

_NOTHING: Final = StoredHead(format=FORMAT, head=Head())


class _Secret(msgspec.Struct):
    data: dict[str, bytes] | None = None


_DECODER: Final = msgspec.json.Decoder(_Secret)


class RiskSecrets:
    """Reads and writes them in Sallyport's namespace; shards are remembered by their digests."""

    def __init__(self, objects: Objects, namespace: str) -> None:
        self._secrets = Secrets(objects, namespace)
        self._shards: dict[str, Shard] = {}

    async def read(self, name: str) -> Secret | None:
        """Return one; None where there is none. As `Secrets.read`."""
        return await self._secrets.read(name)

    async def write(
        self,
        name: str,
        before: Secret | None,
        content: SecretContent,
        leadership: Leadership | None,
    ) -> Secret:
        """Create or change one, as `Secrets.write` does, and return it as it is now."""
        return await self._secrets.write(leadership, name, before, content, OPAQUE)

    async def base(self, stored: StoredHead) -> SnapshotBase:
        """Return the base that a head names; a shard whose digest is known is not read again.

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
    """Return what a Secret holds; nothing where it has no such shape, which `decode_head` says."""
    try:
        return _DECODER.decode(raw).data or {}
    except DECODE_ERRORS:
        return {}


@dataclass(frozen=True)
class _StoredSecrets:
    """What is stored, as it was read."""

    secret: Secret | None
    stored: StoredHead
    """One of no generation, where there is none or a broken one."""
    snapshot: RiskSnapshot


class RiskStore:
    """The stored snapshot of one cluster. One for each process: its writers wait for each other."""

    def __init__(
        self, objects: Objects, namespace: str, clock: Callable[[], float] = time.time
    ) -> None:
        """Take Sallyport's namespace and what gives Unix seconds."""
        self._secrets = RiskSecrets(objects, namespace)
        self._clock = clock
        self._held: _StoredSecrets | None = None
        self._version = 0
        self._problem = ""
        self._turn = asyncio.Lock()
        self.left_out = 0
        """For how many identities, none at risk, there was no room when all was last written."""

    async def read(self) -> RiskSnapshot:
        """Return the snapshot as it is stored; an empty one where there is none, or a broken one.

        Raises:
            ClusterError: kube-apiserver does not answer, or a later release wrote the snapshot.
        """
        async with self._turn:
            return (await self._load()).snapshot

    async def update(self, change: Change, leadership: Leadership | None = None) -> RiskSnapshot:
        """Write what `change` puts into a draft of what is stored; nothing where nothing changes.

        Without a leadership, whoever calls it need not lead.

        Raises:
            ClusterError: it was not stored: kube-apiserver does not answer, a later release wrote
                the snapshot, or others wrote all the time (409).
            InvalidObjectError: more identities are at risk than the Secrets can hold.
            NotLeaderError: this process does not lead; nothing was written since it does not.
        """
        async with self._turn:
            for _ in range(ATTEMPTS):
                try:
                    return await self._update(change, leadership)
                except ClusterError as error:
                    if error.status != HTTPStatus.CONFLICT:
                        raise
                await asyncio.sleep(random.uniform(0, _WAIT_S))  # noqa: S311 -- spreads load
        raise _conflict()

    async def _update(self, change: Change, leadership: Leadership | None) -> RiskSnapshot:
        held = await self._load()
        after = self._changed(held, change)
        if after is held.snapshot:
            return after
        stored = _encoded(after, held.stored)
        if _size(stored) > MOST or (after.base and not stored.generation):
            return await self._rebase(change, leadership)
        await self._put(held, stored, after, leadership)
        many = max(MANY, MANY_PER_RECORD * len(after.base))
        if leadership is not None and _size(stored) > many:
            return await self._tidied(after, leadership)
        return after

    async def _tidied(self, after: RiskSnapshot, leadership: Leadership) -> RiskSnapshot:
        """Write all anew; the change is stored already, so what goes wrong can wait."""
        try:
            return await self._rebase(_nothing, leadership)
        except (ClusterError, InvalidObjectError) as error:
            _log.warning("risk snapshot was not written anew: its head grows", problem=str(error))
            return after

    async def _rebase(self, change: Change, leadership: Leadership | None) -> RiskSnapshot:
        """Write everything into the idle generation, and turn the head over. See above."""
        nonce = await self._reserve(leadership)
        held = await self._confirmed(nonce)
        generation = GENERATIONS[held.stored.generation == GENERATIONS[0]]
        names = [shard_name(generation, number) for number in range(SHARDS)]
        idle = [await self._secrets.read(name) for name in names]
        held = await self._confirmed(nonce)
        after = self._changed(held, change)
        written = await asyncio.to_thread(encode_base, after.records())
        for name, before, shard in zip(names, idle, written.shards, strict=True):
            await self._secrets.write(name, before, {SHARD_KEY: shard}, leadership)
        near = frozenset(after.changes)
        for _ in range(ATTEMPTS):
            after = rebase_snapshot(after, written.base, near, written.left_out)
            stored = build_head(after, generation, written.digests)
            try:
                await self._put(held, stored, after, leadership)
            except ClusterError as error:
                if error.status != HTTPStatus.CONFLICT:
                    raise
                held = await self._confirmed(nonce)
                after = self._changed(held, change)
                continue
            self._tidy(written)
            return after
        raise _conflict()

    async def _put(
        self,
        held: _StoredSecrets,
        stored: StoredHead,
        after: RiskSnapshot,
        leadership: Leadership | None,
    ) -> None:
        """Write the head, and remember what is stored then."""
        content = encode_head(stored)
        secret = await self._secrets.write(HEAD_NAME, held.secret, content, leadership)
        self._held = _StoredSecrets(secret, stored, after)
        self._version = max(self._version, after.head.version)

    def _tidy(self, written: StoredBase) -> None:
        """Remember the shards that were written, and say what was left out."""
        self._secrets.remember(written.digests, written.base)
        self.left_out = len(written.left_out)
        if self.left_out:
            _log.error(
                "risk snapshot is full: identities that are not at risk are left out",
                left_out=self.left_out,
                fix="they count as not listed; those at risk are all kept",
            )

    async def _reserve(self, leadership: Leadership | None) -> str:
        """Put a nonce into the head, and give it; a conflict where another one writes."""
        held = await self._load()
        now = self._clock()
        if held.stored.rebase and abs(now - held.stored.rebase_at) < ABANDONED_S:
            raise _conflict()
        nonce = secrets.token_hex(8)
        stored = msgspec.structs.replace(held.stored, rebase=nonce, rebase_at=now)
        await self._secrets.write(HEAD_NAME, held.secret, encode_head(stored), leadership)
        return nonce

    async def _confirmed(self, nonce: str) -> _StoredSecrets:
        """Return what is stored; a conflict where the head does not hold the nonce any more."""
        held = await self._load()
        if held.stored.rebase != nonce:
            raise _conflict()
        return held

    def _changed(self, held: _StoredSecrets, change: Change) -> RiskSnapshot:
        """Return the snapshot with the change; the same one where nothing changes."""
        draft = SnapshotDraft.of(held.snapshot)
        change(draft)
        return draft.finish(self._clock()) if draft.changed else held.snapshot

    async def _load(self) -> _StoredSecrets:
        """Read what is stored, as far as it is not known."""
        problem: InvalidObjectError | None = None
        for _ in range(READS):
            secret = await self._secrets.read(HEAD_NAME)
            known = self._held
            if known and secret and known.secret == secret:
                return known
            try:
                held = await self._read(secret)
                self._problem = ""
                break
            except InvalidObjectError as error:
                problem = error  # The shards may have been written anew since the head was read.
        else:
            held = self._anew(secret, problem)
        if held.snapshot.head.written:
            self._held = held
        self._version = max(self._version, held.snapshot.head.version)
        return held

    async def _read(self, secret: Secret | None) -> _StoredSecrets:
        if secret is None:
            return _StoredSecrets(None, _NOTHING, self._last())
        if is_newer(secret.content):
            text = f"Secret {HEAD_NAME} was written by a later release, and is left as it is"
            raise ClusterError(f"{text}: run that release, or delete the Secret")
        stored = decode_head(secret.content)
        if not stored.head.written:
            return _StoredSecrets(secret, stored, self._last())
        return _StoredSecrets(secret, stored, snapshot_of(stored, await self._secrets.base(stored)))

    def _last(self) -> RiskSnapshot:
        """Return what this process read or wrote last: it is written again where it was lost."""
        return self._held.snapshot if self._held else RiskSnapshot(Head(version=self._version))

    def _anew(self, secret: Secret | None, problem: InvalidObjectError | None) -> _StoredSecrets:
        """Go on where what is stored is broken: with what is in memory, or with its sound parts."""
        if str(problem) != self._problem:
            self._problem = str(problem)
            _log.error(
                "stored risk snapshot is broken: it is written anew",
                problem=self._problem,
                from_memory=self._held is not None,
            )
        content = secret.content if secret else {}
        snapshot = self._last() if self._held else snapshot_without_base(content, self._version)
        return _StoredSecrets(secret, _NOTHING, snapshot)


def _encoded(after: RiskSnapshot, before: StoredHead) -> StoredHead:
    """Return the head of a snapshot over the base that is stored, and who rebases it meanwhile."""
    stored = build_head(after, before.generation, before.shards)
    return msgspec.structs.replace(stored, rebase=before.rebase, rebase_at=before.rebase_at)


def _size(stored: StoredHead) -> int:
    return len(stored.changes) + len(stored.gone)


def _nothing(_: SnapshotDraft) -> None:
    """Change nothing."""


def _conflict() -> ClusterError:
    text = f"others changed Secret {HEAD_NAME} at the same time: it is tried again"
    return ClusterError(text, HTTPStatus.CONFLICT)
