"""The risk snapshot as a gate holds it: the head's Secret is watched, shards are fetched when new.

What it holds is at most 9 MiB at 100,000 identities, and shards that have not changed are shared
from one snapshot to the next. A snapshot is taken whole or not at all: whatever is broken, half
written or of a release that this one cannot read leaves the last good one in force, and says so
once. However long kube-apiserver is away, the last one stays: it says itself as of when it is.
"""

import asyncio
import random
from collections.abc import Mapping
from typing import Final

import structlog

from core.base.errors import ClusterError, InvalidObjectError
from core.risk.snapshot import RiskSnapshot
from core.risk.snapshot_storage import HEAD_NAME, StoredHead, decode_head, snapshot_of
from kube.client.connection import Connection
from kube.client.objects import Objects
from kube.client.settings import LiveSettings
from kube.risk.store import RiskSecrets, SecretContent, parse_content
from kube.watch.listwatch import ListWatch, Resource

RETRY_FIRST_S: Final = 0.5
RETRY_LAST_S: Final = 30.0
"""Waits before shards are asked for again double from the first to the last."""

_log = structlog.get_logger(__name__)


class WatchedRisk:
    """Keeps the snapshot of a cluster; run `run` as a task."""

    def __init__(self, connection: Connection, settings: LiveSettings) -> None:
        """Watch in `settings.namespace`, if `settings.risk` says so."""
        self._wanted = settings.risk
        self._secrets = RiskSecrets(
            Objects(connection, settings.request_timeout_s), settings.namespace
        )
        path = f"/api/v1/namespaces/{settings.namespace}/secrets"
        self._watch = ListWatch(
            connection,
            Resource(f"Secret {HEAD_NAME}", path, parse_content, f"metadata.name={HEAD_NAME}"),
            self._came_in,
            settings,
        )
        self._content: SecretContent | None = None
        self._came = asyncio.Event()
        self._snapshot = RiskSnapshot()
        self._settled = False
        self._problem = ""

    def current(self) -> RiskSnapshot | None:
        """Return the last good one; an empty one before the first, None where none is wanted."""
        return self._snapshot if self._wanted else None

    @property
    def missing(self) -> str:
        """Say that it is not known yet whether there is one; empty once it was loaded, or tried."""
        tried = self._settled or (self._watch.tried and bool(self._watch.problem))
        return "" if tried or not self._wanted else "risk snapshot: not read yet"

    @property
    def problem(self) -> str:
        """Why the stored one is not the one in force, for a person; empty where it is."""
        return self._problem or self._watch.problem

    async def run(self) -> None:
        """Keep it until cancelled."""
        if self._wanted:
            await asyncio.gather(self._watch.run(), self._keep())

    async def _keep(self) -> None:
        wait_s = RETRY_FIRST_S
        while True:
            await self._came.wait()
            self._came.clear()
            try:
                await self.take(self._content)
            except (InvalidObjectError, ClusterError) as error:
                self._say(str(error))
                pause_s = wait_s * random.uniform(0.5, 1.0)  # noqa: S311 -- spreads load
                asyncio.get_running_loop().call_later(pause_s, self._came.set)
                wait_s = min(wait_s * 2, RETRY_LAST_S)
            else:
                wait_s = RETRY_FIRST_S
            self._settled = True

    async def take(self, content: SecretContent | None) -> None:
        """Put what is stored in force, if it is sound and not older than what is.

        Raises:
            InvalidObjectError: it is broken, or half of it is being written anew.
            ClusterError: a shard cannot be read.
        """
        if content is None:
            self._say("it is missing: control writes it once it has read from Entra ID")
            return
        stored = await asyncio.to_thread(decode_head, content)
        if not stored.head.written:
            return
        if is_older(stored, self._snapshot):
            self._say("it is older than the one in force, as of a backup: waiting for a new one")
            return
        base = await self._secrets.base(stored)
        self._snapshot = await asyncio.to_thread(snapshot_of, stored, base)
        self._say("")

    def _came_in(self, objects: Mapping[str, SecretContent]) -> None:
        self._content = next(iter(objects.values()), None)
        self._came.set()

    def _say(self, problem: str) -> None:
        if problem and problem != self._problem:
            _log.error(
                "stored risk snapshot is not in force: the last good one is",
                problem=problem,
                version=self._snapshot.head.version,
            )
        elif self._problem and not problem:
            _log.info("stored risk snapshot is in force", version=self._snapshot.head.version)
        self._problem = problem


def is_older(stored: StoredHead, held: RiskSnapshot) -> bool:
    """Return whether a stored snapshot is older than the one that is held: by version and by time.

    A version that is lower but was written later comes from a `control` that goes on with a backup
    of etcd, or that began anew: it is the one that is kept up, and refusing it would keep new risk
    out until its versions had grown past the old one's, for days. One that is lower and was
    written earlier is what a backup brought back, before `control` has written upon it: what is
    held is newer knowledge, and whoever is at risk by it stays so for the seconds that this takes.
    """
    head = stored.head
    return head.version < held.head.version and head.written <= held.head.written
