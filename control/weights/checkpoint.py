"""Up to which moment the life of Pods is recorded, so that the next leader goes on; gaps.

It is a ConfigMap with a resourceVersion, and nothing of any Pod: who lived then is asked of
kube-apiserver. A gap is a stretch of time of which a record may lack something.
"""

from collections import deque
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import msgspec
import structlog

from core.base import names
from core.base.times import milli_text
from core.weights.documents.events import FORMAT, LogGap, gap_id
from kube.client.objects import Objects
from kube.leader.lease import Leadership

EVER: Final = 0.0
"""The beginning of a gap before which nothing is recorded at all."""

NAME: Final = "sallyport-recorded-pods"

CHECKPOINT_FORMAT: Final = 1
"""Version of what is stored. Release N reads N - 1 and N + 1 as well."""

SAVE_S: Final = 10.0
"""So often it is stored how far all is recorded: so much may a next leader record again."""

_MARK_S: Final = 1.0
_MOST_MARKS: Final = 3600
"""An hour of them; kube-apiserver remembers no more than minutes."""

_KEY: Final = "reached"

_log = structlog.get_logger(__name__)


def build_gap(cluster: str, log: str, subject: str, begin: float, end: float, why: str) -> LogGap:  # noqa: PLR0913, PLR0917
    """Return the gap of a log (`pods`, `identities`, `changes`); times in Unix seconds."""
    begin_ms, end_ms = round(begin * 1000), round(end * 1000)
    return LogGap(
        format=FORMAT,
        id=gap_id(cluster, log, subject, begin_ms, end_ms),
        cluster=cluster,
        log=log,
        subject=subject,
        begin=milli_text(begin_ms),
        end=milli_text(end_ms),
        why=why,
    )


class Checkpoint(msgspec.Struct, frozen=True, kw_only=True):
    """All that happened to Pods up to here is recorded, for good."""

    format: int = CHECKPOINT_FORMAT
    cluster: str
    version: str
    """resourceVersion of a list or watch of Pods."""
    time: float
    """Unix seconds: when that was read."""


class SpoolMark(NamedTuple):
    """A moment at which all up to a version was put into the spool."""

    time: float
    version: str


class CheckpointProgress:
    """How far one leader has come: what is in its spool, and what of that is kept for good."""

    def __init__(self, every_s: float = SAVE_S) -> None:
        self.time = 0.0
        """Unix seconds of the last moment that was due; 0 before the first."""
        self._every_s = every_s
        self._due_at = 0.0
        self._waiting: deque[SpoolMark] = deque(maxlen=_MOST_MARKS)

    def note(self, version: str, now: float) -> None:
        """Note that all up to a version is in the spool now."""
        if not self._waiting or now - self._waiting[-1].time >= _MARK_S:
            self._waiting.append(SpoolMark(now, version))

    def due(self, kept_until: Callable[[], float], now: float) -> SpoolMark | None:
        """Return what is to be stored now; None where it is too early, or nothing is kept yet."""
        if now < self._due_at:
            return None
        mark, kept = None, kept_until()
        while self._waiting and self._waiting[0].time <= kept:
            mark = self._waiting.popleft()
        if mark is not None:
            self._due_at, self.time = now + self._every_s, mark.time
        return mark


class CheckpointStore:
    """The ConfigMap of one installation."""

    def __init__(self, objects: Objects, namespace: str, cluster: str) -> None:
        self._objects = objects
        self._namespace = namespace
        self._cluster = cluster
        self._path = f"/api/v1/namespaces/{namespace}/configmaps/{NAME}"

    async def load(self) -> Checkpoint | None:
        """Return what is stored; None where nothing is, or it is broken or another cluster's.

        Raises:
            ClusterError: kube-apiserver does not answer, or refuses.
        """
        live = await self._objects.get(self._path)
        if live is None:
            return None
        try:
            read = msgspec.json.decode(str((live.get("data") or {}).get(_KEY, "")), type=Checkpoint)
        except msgspec.DecodeError as error:
            _log.error("how far Pods are recorded cannot be read", name=NAME, why=str(error))
            return None
        if abs(read.format - CHECKPOINT_FORMAT) > 1 or read.cluster != self._cluster:
            _log.error("how far Pods are recorded is not this cluster's, or release's", name=NAME)
            return None
        return read

    async def save(self, leadership: Leadership, version: str, time: float) -> None:
        """Store how far it is.

        Raises:
            ClusterError: kube-apiserver does not answer, or refuses.
            NotLeaderError: the term is over.
        """
        leadership.require()
        reached = Checkpoint(cluster=self._cluster, version=version, time=time)
        await self._objects.apply(self._path, self._body(reached))

    def _body(self, reached: Checkpoint) -> dict[str, Any]:
        return {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": NAME,
                "namespace": self._namespace,
                "labels": {names.MANAGED_BY_LABEL: "sallyport"},
            },
            "data": {
                "about": "Up to where the life of Pods is recorded; without it a gap is recorded.",
                _KEY: msgspec.json.encode(reached).decode(),
            },
        }
