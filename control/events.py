"""Events (core v1): their body as every loop writes it, and those due at a known time.

One that is due is written once, whichever replica leads.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final

import structlog

from core.base import names
from core.base.errors import ClusterError
from core.base.process_names import CONTROL
from core.base.sallyport_objects import Metadata
from core.base.times import time_text
from kube.client.objects import Objects
from kube.leader.lease import Leadership

NORMAL: Final = "Normal"
WARNING: Final = "Warning"

_LONGEST: Final = 1000
"""Characters of a message."""

LATE_S: Final = 3000.0
"""So late an Event is still written. Kubernetes keeps Events for an hour, and by its name a second
one of an object is refused so long: there is at most one, whichever replica leads."""

_UNWRITTEN: Final = frozenset({HTTPStatus.CONFLICT, HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND})

_log = structlog.get_logger(__name__)


def event_body(
    metadata: Mapping[str, str], involved: Mapping[str, str], what: tuple[str, str, str], at: float
) -> dict[str, Any]:
    """Return an Event that happened once.

    `involved` refers to the object, `what` is type, reason and message, `at` in Unix seconds.
    """
    kind, reason, message = what
    time = time_text(at)
    return {
        "metadata": dict(metadata),
        "involvedObject": dict(involved),
        "type": kind,
        "reason": reason,
        "message": message,
        "source": {"component": CONTROL},
        "firstTimestamp": time,
        "lastTimestamp": time,
        "count": 1,
    }


def build_event(
    involved: Mapping[str, Any], what: tuple[str, str, str], at: float
) -> dict[str, Any]:
    """Return an Event about an object; Kubernetes keeps it for an hour, and the same only once.

    Its name is made of what it says: whoever says it again is refused. Arguments as `event_body`.
    """
    kind, reason, message = what
    digest = hashlib.sha256(f"{involved.get('uid')} {reason} {message}".encode()).hexdigest()[:16]
    metadata = {
        "name": f"{str(involved['name'])[:180].rstrip('.-')}.{reason.lower()[:40]}.{digest}",
        "namespace": involved.get("namespace") or "default",
    }
    return event_body(metadata, involved, (kind, reason, message[:_LONGEST]), at)


@dataclass(frozen=True)
class DueEvent:
    """Something that happens to an object at a time."""

    kind: str
    meta: Metadata
    at: float
    """Unix seconds."""
    reason: str
    message: str

    @property
    def name(self) -> str:
        """Name its Event: the same, whoever writes it."""
        return f"{self.meta.name[:180]}.{self.meta.uid[:36]}.{self.reason.lower()}"

    def is_due(self, now: float) -> bool:
        """Return whether it is time to write its Event, and not too late."""
        return self.at <= now < self.at + LATE_S


@dataclass
class EventWriter:
    """Writes the Events that are due, each once."""

    objects: Objects
    _told: set[str] = field(default_factory=set)

    async def tell(self, leadership: Leadership, moments: Iterable[DueEvent], now: float) -> None:
        """Write those that are due, and were not written yet.

        Raises:
            ClusterError: kube-apiserver does not answer, or refuses.
            NotLeaderError: leadership was lost on the way.
        """
        due = [each for each in moments if each.is_due(now)]
        self._told &= {each.name for each in due}
        for moment in due:
            if moment.name not in self._told:
                leadership.require()
                await self._write(moment)

    async def _write(self, moment: DueEvent) -> None:
        place = moment.meta.namespace or "default"
        try:
            await self.objects.create(f"/api/v1/namespaces/{place}/events", event_of(moment, place))
        except ClusterError as error:
            if error.status not in _UNWRITTEN:
                raise
            if error.status != HTTPStatus.CONFLICT:
                _log.warning("no Event could be written", name=moment.name, problem=str(error))
        self._told.add(moment.name)


def event_of(moment: DueEvent, place: str) -> dict[str, Any]:
    """Return the Event (core v1) of a moment."""
    meta = moment.meta
    involved = {"apiVersion": names.API_VERSION, "kind": moment.kind, "name": meta.name}
    return event_body(
        {"name": moment.name, "namespace": place},
        involved | {"uid": meta.uid} | _within(meta.namespace),
        (WARNING, moment.reason, moment.message),
        moment.at,
    )


def _within(namespace: str) -> dict[str, str]:
    return {"namespace": namespace} if namespace else {}
