"""Finds kinds that nobody listed and that carry Pods, and registers the gate's webhooks for them.

Each run lists the metadata of all CustomResourceDefinitions, from kube-apiserver's memory, and
reads those that it does not know in their generation.
"""

import datetime as dt
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

import msgspec
import structlog
from prometheus_client import CollectorRegistry, Gauge

from control.discovery.workload_kinds import (
    NAME,
    REGISTRATIONS,
    DiscoveryChoices,
    Registration,
    WorkloadKind,
    covered_resources,
    find_workload_kind,
    foreign_webhooks,
    is_current,
    webhook_of,
)
from control.events import NORMAL, event_body
from control.loop import Loop
from core.base.errors import ClusterError, InvalidObjectError
from kube.client.objects import PAGE, Objects
from kube.leader.lease import Leadership, wall_time
from kube.resources.paths import ADMISSION_PATH

INTERVAL_S: Final = 4.0
"""With a run and what kube-apiserver takes to follow, less than ten seconds."""

FIELD_MANAGER: Final = "sallyport-discovery"

_DEFINITIONS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_SHIPPED: Final = "sallyport"
_EVENTS: Final = "/api/v1/namespaces/default/events"
"""Where Events of what lies in no namespace have to be."""
_FROM_MEMORY: Final = {"resourceVersion": "0"}
_SHOWN: Final = 5

_log = structlog.get_logger(__name__)


class _Metadata(msgspec.Struct, frozen=True):
    name: str = ""
    uid: str = ""
    generation: int = 0


class _Listed(msgspec.Struct):
    metadata: _Metadata = _Metadata()


@dataclass(frozen=True)
class _ReadDefinition:
    """What came of reading a definition."""

    uid: str
    generation: int
    found: WorkloadKind | None


class Discovery:
    """Each run brings both registrations to what the definitions say. `loop` is its loop."""

    def __init__(
        self,
        objects: Objects,
        registry: CollectorRegistry,
        wanted: DiscoveryChoices | None = None,
        clock: Callable[[], dt.datetime] = wall_time,
    ) -> None:
        self._objects = objects
        self._wanted = wanted or DiscoveryChoices()
        self._clock = clock
        self._known: dict[str, _ReadDefinition] = {}
        self._told: dict[str, str] = {}
        self._kinds = Gauge(
            "sallyport_discovered_kinds",
            "Kinds that nobody listed, found to carry Pods and judged when they are submitted; NaN "
            "where another replica leads.",
            registry=registry,
        )
        self._forget()
        self.loop = Loop("discovery", INTERVAL_S, self.run, forget=self._forget)

    async def run(self, leadership: Leadership) -> None:
        """Look at the definitions, and write what differs.

        Raises:
            ClusterError: kube-apiserver does not answer, or refuses.
            NotLeaderError: leadership was lost on the way.
        """
        leadership.require()
        await self._look()
        kinds = sorted(
            (known.found for known in self._known.values() if known.found is not None),
            key=lambda found: (found.group, found.resource),
        )
        registered = [await self._register(leadership, each, kinds) for each in REGISTRATIONS]
        self._kinds.set(len(kinds) if all(registered) else 0)

    def _forget(self) -> None:
        self._kinds.set(math.nan)

    async def _look(self) -> None:
        """Bring what is known to what is there; what cannot be read stays as it was known."""
        listed = await self._list()
        self._known = {name: each for name, each in self._known.items() if name in listed}
        self._told = {key: said for key, said in self._told.items() if key in listed or "/" in key}
        for name, metadata in listed.items():
            known = self._known.get(name)
            if known and (known.uid, known.generation) == (metadata.uid, metadata.generation):
                continue
            try:
                definition = await self._objects.get(f"{_DEFINITIONS}/{name}")
            except ClusterError as error:
                if error.status == HTTPStatus.FORBIDDEN:
                    raise
                self._tell(name, f"cannot be read: {error}")
                continue
            if definition is not None:
                found = self._find(name, definition)
                self._known[name] = _ReadDefinition(metadata.uid, metadata.generation, found)

    async def _list(self) -> dict[str, _Metadata]:
        listed: dict[str, _Metadata] = {}
        token = ""
        while True:
            page = await self._objects.page(
                _DEFINITIONS, PAGE, token, _FROM_MEMORY, metadata_only=True
            )
            for raw in page.items:
                metadata = msgspec.json.decode(raw, type=_Listed).metadata
                listed[metadata.name] = metadata
            token = page.continue_token
            if not token:
                return listed

    def _find(self, name: str, definition: Mapping[str, Any]) -> WorkloadKind | None:
        """Look for Pod templates in one; whatever is wrong with it, the others count."""
        try:
            found = find_workload_kind(definition, self._wanted)
        except InvalidObjectError as error:
            self._tell(name, str(error))
            return None
        if found is None and name in self._wanted.search:
            self._tell(name, "is listed already, or its schema hides nothing: it is not searched")
        else:
            self._told.pop(name, None)
        return found

    def _tell(self, name: str, problem: str) -> None:
        """Log a problem once."""
        if self._told.get(name) != problem:
            _log.warning("CustomResourceDefinition left out", crd=name, problem=problem)
        self._told[name] = problem

    async def _register(
        self, leadership: Leadership, registration: Registration, kinds: list[WorkloadKind]
    ) -> bool:
        """Bring one registration to what it should be; say whether it is there to ask the gate."""
        collection = f"{ADMISSION_PATH}/{registration.resource}"
        path = f"{collection}/{NAME}"
        live = await self._objects.get(path)
        chart = await self._objects.get(f"{collection}/{_SHIPPED}")
        shipped = webhook_of(chart, registration.model)
        self._note(path, live, registration, shipped)
        if live is None:
            return False
        body = registration.body(live["metadata"]["uid"], shipped, kinds)
        if not is_current(live, body, registration.webhook):
            leadership.require()
            await self._objects.apply(path, body, FIELD_MANAGER)
            _log.info("webhook registration written", path=path, kinds=len(kinds))
            if registration is REGISTRATIONS[-1]:
                await self._announce(leadership, live, registration, kinds if shipped else [])
        return shipped is not None

    def _note(
        self,
        path: str,
        live: Mapping[str, Any] | None,
        registration: Registration,
        shipped: Mapping[str, Any] | None,
    ) -> None:
        """Say once what keeps kinds from being covered, and what is not this loop's."""
        problem = ""
        if live is None:
            problem = "no such registration: install the chart with webhooks.enabled"
        elif shipped is None:
            problem = f"the registration {_SHIPPED} has no {registration.model}: nothing to go by"
        elif others := foreign_webhooks(live, registration.webhook):
            problem = f"webhooks of others in it are left alone: {', '.join(sorted(others)[:4])}"
        if problem and self._told.get(path) != problem:
            _log.warning("webhook registration for kinds found", path=path, problem=problem)
        self._told[path] = problem

    async def _announce(
        self,
        leadership: Leadership,
        before: Mapping[str, Any],
        registration: Registration,
        kinds: Iterable[WorkloadKind],
    ) -> None:
        """Write an Event for each definition whose kind is covered from now on."""
        known = covered_resources(before, registration.webhook)
        for found in kinds:
            if (found.group, found.resource) in known:
                continue
            _log.info("kind found that carries Pods", crd=found.definition, paths=found.paths)
            leadership.require()
            try:
                await self._objects.create(_EVENTS, event_of(found, self._clock()))
            except ClusterError as error:
                self._tell(found.definition, f"no Event could be written: {error}")


def event_of(found: WorkloadKind, now: dt.datetime) -> dict[str, Any]:
    """Return the Event (core v1) that says that a kind is covered from now on."""
    where = f"at {', '.join(found.paths[:_SHOWN])}" if found.paths else "that its schema hides"
    more = f" and {len(found.paths) - _SHOWN} more" if len(found.paths) > _SHOWN else ""
    message = (
        f"Its objects carry Pod templates, {where}{more}: Sallyport judges them when they are "
        "submitted."
    )
    involved = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "name": found.definition,
        "uid": found.uid,
    }
    metadata = {"generateName": f"{NAME}-", "namespace": "default"}
    return event_body(metadata, involved, (NORMAL, "PodTemplatesFound", message), now.timestamp())
