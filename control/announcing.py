"""Events of what happens to an object at a known time: written once, whichever replica leads."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final

import structlog

from control.events import WARNING, event_body
from core.base import names
from core.base.errors import ClusterError
from core.people.approvable import Metadata
from kube.client.objects import Objects
from kube.leader.lease import Leadership

LATE_S: Final = 3000.0
"""So late an Event is still written. Kubernetes keeps Events for an hour, and by its name a second
one of an object is refused so long: there is at most one, whichever replica leads."""

_UNWRITTEN: Final = frozenset({HTTPStatus.CONFLICT, HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND})

_log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Moment:
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
        """Say whether it is time to write its Event, and not too late."""
        return self.at <= now < self.at + LATE_S


@dataclass
class Announcing:
    """Writes the Events that are due, each once."""

    objects: Objects
    _told: set[str] = field(default_factory=set)

    async def tell(self, leadership: Leadership, moments: Iterable[Moment], now: float) -> None:
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

    async def _write(self, moment: Moment) -> None:
        place = moment.meta.namespace or "default"
        try:
            await self.objects.create(f"/api/v1/namespaces/{place}/events", event_of(moment, place))
        except ClusterError as error:
            if error.status not in _UNWRITTEN:
                raise
            if error.status != HTTPStatus.CONFLICT:
                _log.warning("no Event could be written", name=moment.name, problem=str(error))
        self._told.add(moment.name)


def event_of(moment: Moment, place: str) -> dict[str, Any]:
    """Give the Event (core v1) of a moment."""
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
