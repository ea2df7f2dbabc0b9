"""Tells each namespace that an identity at risk left something in it: one Event of each identity.

The Events are written through core/v1: `events.k8s.io/v1` lets nobody change the note of an Event
(k8s.io/kubernetes pkg/apis/core/validation/events.go), so a second rise could not say its number.
Either API shows them.
"""

import hashlib
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

import structlog

from core.base import names
from core.base.errors import ClusterError
from core.base.process_names import CONTROL
from core.risk.look_back import LookBackDocument, Sort
from kube.client.objects import Objects
from kube.leader.lease import Leadership

REASON: Final = "IdentityAtRisk"

MOST: Final = 500
"""Namespaces that are told of one identity; the document counts all."""

_IN_VAIN: Final = frozenset({HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT})
"""The namespace is gone or ending, or the right is missing: nothing that waiting would mend."""

_log = structlog.get_logger(__name__)


def note_of(document: LookBackDocument, namespace: str) -> str:
    """Say to whoever looks after a namespace what is there, and where to read more. Pure."""
    count = document.namespaces.get(namespace, 0)
    sorts = [each.sort for each in document.items if each.namespace == namespace]
    told = [f"{sorts.count(sort)} {sort.value}" for sort in Sort if sort in sorts]
    listed = f" ({', '.join(told)})" if told else ""
    event = f", event {document.events[0]}" if document.events else ""
    return (
        f"{document.subject} is at risk ({document.standing}, since {document.since}{event}). "
        f"What it started, changed or entered from {document.begin} on and is still there: "
        f"{count}{listed}. See all: sallyport risk look-back {document.subject}"
    )[:1000]


def event_name(subject: str) -> str:
    """Return the name of an identity's Events: the same, however often its risk rises."""
    return f"{REASON.lower()}.{hashlib.sha256(subject.encode()).hexdigest()[:16]}"


def event_of(
    document: LookBackDocument, namespace: str, place: str, before: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Return the Event in the namespace `place` about `namespace`.

    `before` is the last one. Pure.
    """
    first = (before or {}).get("firstTimestamp") or document.end
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {
            "name": event_name(document.subject),
            "namespace": place,
            "annotations": {names.LOOK_BACK_ANNOTATION: document.id},
        },
        "involvedObject": {
            "apiVersion": "v1",
            "kind": "Namespace",
            "name": place,
            "namespace": place,  # kube-apiserver demands the Event's own.
        },
        "type": "Warning",
        "reason": REASON,
        "message": note_of(document, namespace),
        "source": {"component": CONTROL},
        "firstTimestamp": first,
        "lastTimestamp": document.end,
        "count": int((before or {}).get("count") or 0) + 1,
    }


class LookBackEvents:
    """Writes the Events of one cluster."""

    def __init__(self, objects: Objects, namespace: str) -> None:
        """Take Sallyport's own namespace, which is told what lies in none."""
        self._objects = objects
        self._own = namespace

    async def tell(self, leadership: Leadership, document: LookBackDocument) -> int:
        """Tell all namespaces that a document names; give how many could not be told.

        Raises:
            NotLeaderError: the term is over.
            ClusterError: kube-apiserver does not answer.
        """
        failed = 0
        for namespace in list(document.namespaces)[:MOST]:
            leadership.require()
            failed += not await self._tell(document, namespace)
        return failed

    async def _tell(self, document: LookBackDocument, namespace: str) -> bool:
        place = namespace or self._own
        collection = f"/api/v1/namespaces/{place}/events"
        path = f"{collection}/{event_name(document.subject)}"
        try:
            before = await self._objects.get(path)
            if before is None:
                await self._objects.create(collection, event_of(document, namespace, place, None))
            elif _document_of(before) != document.id:
                await self._objects.merge(path, event_of(document, namespace, place, before))
        except ClusterError as error:
            if error.status not in _IN_VAIN:
                raise
            _log.warning(
                "a namespace could not be told of an identity at risk",
                namespace=place,
                status=error.status,
            )
            return False
        return True


def _document_of(event: Mapping[str, Any]) -> str:
    annotations = event.get("metadata", {}).get("annotations") or {}
    return str(annotations.get(names.LOOK_BACK_ANNOTATION, ""))
