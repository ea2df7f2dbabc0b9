"""Registers the webhooks once kube-apiserver reaches a gate, and keeps all as the chart says it.

The chart writes what is wanted into the ConfigMap `sallyport-registrations`, and webhook
configurations without webhooks: nobody's Pod is refused before a gate answers. What is registered
stays registered, whether gates answer or not. What somebody changes or deletes is put back, with an
Event that says how the webhooks are switched off (docs/operate/registration.md).
"""

import datetime as dt
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

import structlog
from prometheus_client import CollectorRegistry

from control.events import NORMAL, WARNING, event_body
from control.loop import Loop
from control.registrations.comparison import CA, ca_of, differences, names_of
from control.registrations.metrics import Key, RegistrationMetrics
from control.registrations.probe import ask
from control.registrations.registration import (
    CONFIGMAP,
    PROBE_PATH,
    Registration,
    read_registrations,
)
from control.registrations.writer import RegistrationWriter
from core.base.errors import ClusterError
from kube.client.objects import Objects
from kube.leader.lease import Leadership, wall_time

INTERVAL_S: Final = 5.0

PATIENCE_S: Final = 15.0
"""So long a policy may differ, and any object be missing, before it is put back: an upgrade writes
the ConfigMap first, and an uninstallation takes the objects away before control."""

_EVENTS: Final = "/api/v1/namespaces/default/events"
"""Where Events of what lies in no namespace have to be."""
_SWITCH_OFF: Final = "To switch the webhooks off: helm upgrade … --set webhooks.enabled=false."

_log = structlog.get_logger(__name__)


class Registrations:
    """Each run brings all of it to what the chart says. `loop` is its loop."""

    def __init__(
        self,
        objects: Objects,
        namespace: str,
        registry: CollectorRegistry,
        tick: Callable[[], float] = time.monotonic,
        clock: Callable[[], dt.datetime] = wall_time,
    ) -> None:
        self._objects = objects
        self._writer = RegistrationWriter(objects)
        self._namespace = namespace
        self._tick = tick
        self._clock = clock
        self._metrics = RegistrationMetrics(registry)
        self._since: dict[str, float] = {}
        """By path, since when an object differs."""
        self._told: dict[str, str] = {}
        self.loop = Loop("registrations", INTERVAL_S, self.run, forget=self._forget)

    async def run(self, leadership: Leadership) -> None:
        """Look at each object, and write what differs.

        Raises:
            ClusterError: kube-apiserver does not answer, or refuses; the others were looked at.
            InvalidObjectError: the ConfigMap cannot be read.
            NotLeaderError: leadership was lost on the way.
        """
        leadership.require()
        found = await self._read()
        unreached = await self._ask()
        ca = ca_of(await self._objects.get(PROBE_PATH))
        problems: dict[Key, str] = {}
        failed: list[ClusterError] = []
        for each in found:
            fields = differences(each.wanted, each.live, ca)
            problems |= {(each.kind, name): field for name, field in fields.items()}
            self._tell(each.path, f"differs: {_text(fields)}" if fields else "")
            if not self._is_due(each, fields, reached=bool(ca) and not unreached):
                continue
            try:
                if await self._writer.write(leadership, each, ca):
                    self._since.pop(each.path, None)
                    await self._announce(leadership, each, fields)
            except ClusterError as error:
                failed.append(error)
        self._metrics.show(
            [(each.kind, name) for each in found for name in names_of(each.wanted)], problems
        )
        if failed:
            raise failed[0]

    async def _read(self) -> list[Registration]:
        """Read what the chart says, and what is there; nothing where the chart says nothing."""
        path = f"/api/v1/namespaces/{self._namespace}/configmaps/{CONFIGMAP}"
        said = await self._objects.get(path)
        missing = f"no ConfigMap {CONFIGMAP}: control registers nothing" if said is None else ""
        self._tell(CONFIGMAP, missing)
        wanted = read_registrations(said) if said else ()
        return [replace(each, live=await self._objects.get(each.path)) for each in wanted]

    async def _ask(self) -> str:
        """Return why kube-apiserver reaches no gate; empty where it does."""
        try:
            unreached = await ask(self._objects, self._namespace)
        except ClusterError as error:
            self._metrics.reach(math.nan)
            unreached = f"whether kube-apiserver reaches a gate is not known: {error}"
        else:
            self._metrics.reach(not unreached)
        self._tell("gate", unreached)
        return unreached

    def _is_due(self, each: Registration, fields: Mapping[str, str], *, reached: bool) -> bool:
        """Return whether one that differs is to be written now."""
        if not fields or set(fields.values()) == {CA}:  # The loop of certificates sees to that.
            self._since.pop(each.path, None)
            return False
        if each.asks and not reached:
            return False
        since = self._since.setdefault(each.path, self._tick())
        waits = each.live is None or "spec" in each.wanted
        return not waits or self._tick() - since >= PATIENCE_S

    async def _announce(
        self, leadership: Leadership, each: Registration, fields: Mapping[str, str]
    ) -> None:
        """Log and tell what was written; count what somebody else had changed or deleted."""
        if each.live is None or each.was_written or not each.asks:
            for name in fields:
                self._metrics.restore((each.kind, name))
            _log.warning("registration put back", path=each.path, differed=_text(fields))
            said = f"Somebody changed or deleted this: {_text(fields)}. {_SWITCH_OFF}"
            what = (WARNING, "RegistrationRestored", said)
        else:
            _log.info("webhooks registered", path=each.path, differed=_text(fields))
            said = f"kube-apiserver reaches a gate, and asks it from now on. {_SWITCH_OFF}"
            what = (NORMAL, "WebhooksRegistered", said)
        involved = {"apiVersion": each.wanted["apiVersion"], "kind": each.kind, "name": each.name}
        metadata = {"generateName": f"{each.name}-", "namespace": "default"}
        leadership.require()
        try:
            at = self._clock().timestamp()
            await self._objects.create(_EVENTS, event_body(metadata, involved, what, at))
        except ClusterError as error:
            _log.warning("no Event could be written", path=each.path, problem=str(error))

    def _tell(self, what: str, problem: str) -> None:
        """Log a problem once, and its end."""
        before = self._told.get(what, "")
        self._told[what] = problem
        if problem and problem != before:
            _log.warning("registration", of=what, problem=problem)
        elif before and not problem:
            _log.info("registration is as it should be", of=what)

    def _forget(self) -> None:
        self._metrics.forget()
        self._since.clear()
        self._told.clear()


def _text(fields: Mapping[str, str]) -> str:
    return ", ".join(f"{name} ({field})" for name, field in sorted(fields.items()))
