"""Shows people who can open each store: a ConfigMap, and an Event where it changes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final

import structlog

from control.events import WARNING, event_body
from core.base import names
from core.base.errors import ClusterError
from core.base.ids import stable_id
from core.base.process_names import CONTROL
from core.weights.documents.store_access import StoreAccess
from core.weights.stores import KIND, WeightStore
from kube.client.objects import Objects
from kube.leader.lease import Leadership
from kube.weights.store_access import body_of, path_of

_SHOWN: Final = 5
_UNWRITTEN: Final = frozenset({HTTPStatus.CONFLICT, HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND})

_log = structlog.get_logger(__name__)


@dataclass
class AccessStatus:
    """Keeps the ConfigMap as what is known, and tells what is new."""

    objects: Objects
    namespace: str
    clock: Callable[[], float]
    _told: dict[str, frozenset[tuple[str, str]]] = field(default_factory=dict)

    async def show(self, leadership: Leadership, known: Mapping[str, StoreAccess]) -> None:
        """Write what is known of all stores.

        Raises:
            ClusterError: kube-apiserver does not answer, or refuses.
            NotLeaderError: leadership was lost.
        """
        leadership.require()
        body = body_of(self.namespace, known)
        await self.objects.apply(path_of(self.namespace), body, CONTROL)

    async def tell(self, leadership: Leadership, store: WeightStore, access: StoreAccess) -> None:
        """Write an Event about a store that differs in another way than before.

        Raises:
            ClusterError: kube-apiserver does not answer.
            NotLeaderError: leadership was lost.
        """
        found = frozenset((one.difference.value, one.principal) for one in access.differing)
        new = found - self._told.get(store.name, frozenset())
        self._told[store.name] = found
        if not new:
            return
        leadership.require()
        event = event_of(store, sorted(new), self.clock())
        try:
            await self.objects.create("/api/v1/namespaces/default/events", event)
        except ClusterError as error:
            if error.status not in _UNWRITTEN:
                raise
            if error.status != HTTPStatus.CONFLICT:
                _log.warning("no Event could be written", store=store.name, problem=str(error))

    def forget(self) -> None:
        """Begin anew: another leader may have told the rest meanwhile."""
        self._told = {}


def event_of(store: WeightStore, new: list[tuple[str, str]], now: float) -> dict[str, Any]:
    """Return the Event (core v1): the same differences have the same name, whoever leads."""
    words = [f"{difference} {principal}".strip() for difference, principal in new]
    more = f" and {len(words) - _SHOWN} more" if len(words) > _SHOWN else ""
    told = f"Azure allows what is not written: {', '.join(words[:_SHOWN])}{more}."
    tail = stable_id(0, "store-access-event", store.meta.uid, *words).rpartition("-")[2]
    message = f"{told} sallyport weights access {store.name} says more."[:1000]
    metadata = {"name": f"{store.name[:180]}.{tail}", "namespace": "default"}
    involved = {
        "apiVersion": names.API_VERSION,
        "kind": KIND,
        "name": store.name,
        "uid": store.meta.uid,
    }
    return event_body(metadata, involved, (WARNING, "AccessDiffers", message), now)
