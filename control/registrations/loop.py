"""Registers the webhooks once kube-apiserver reaches a gate, and keeps all as the chart says it.

The chart writes what is wanted into the ConfigMap `sallyport-registrations`, and webhook
configurations without webhooks: nobody's Pod is refused before a gate answers. What is registered
stays registered, whether gates answer or not. What somebody changes or deletes is put back, with an
Event that says how the webhooks are switched off (docs/operate/registration.md).
"""

import datetime as dt
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

import structlog
from prometheus_client import CollectorRegistry

from control.events import NORMAL, WARNING, event_body
from control.loop import Loop
from control.registrations.comparison import CA, UNREADABLE, ca_of, differences, names_of
from control.registrations.metrics import Key, RegistrationMetrics
from control.registrations.probe import ask
from control.registrations.registration import (
    CONFIGMAP,
    PROBE_PATH,
    Registration,
    read_registrations,
)
from control.registrations.writer import RegistrationWriter
from core.base.errors import ClusterError, InvalidObjectError, SallyportError
from kube.client.objects import Objects
from kube.leader.lease import Leadership, wall_time

INTERVAL_S: Final = 5.0

PATIENCE_S: Final = 15.0
"""So long a policy may differ, and any object be missing, before it is put back: an upgrade writes
the ConfigMap first, and an uninstallation takes the objects away before control."""

CA_PATIENCE_S: Final = 60.0
"""So long a CA may differ: whoever makes the certificates puts it there."""

IN_A_ROW: Final = 3
"""So often kube-apiserver must reach a gate, one look after the other, before anything that asks it
is registered."""

_EVENTS: Final = "/api/v1/namespaces/default/events"
"""Where Events of what lies in no namespace have to be."""
_SWITCH_OFF: Final = "To switch the webhooks off: helm upgrade … --set webhooks.enabled=false."

_log = structlog.get_logger(__name__)


class Registrations:
    """Each run brings all of it to what the chart says. `loop` is its loop."""

    def __init__(  # noqa: PLR0913  The clocks are given by tests.
        self,
        objects: Objects,
        namespace: str,
        registry: CollectorRegistry,
        *,
        release: str,
        tick: Callable[[], float] = time.monotonic,
        clock: Callable[[], dt.datetime] = wall_time,
    ) -> None:
        self._objects = objects
        self._writer = RegistrationWriter(objects)
        self._namespace = namespace
        self._tick = tick
        self._clock = clock
        self._metrics = RegistrationMetrics(registry)
        self._release = release
        self._said: object = None
        """The data of the ConfigMap."""
        self._since: dict[str, float] = {}
        """By path, since when an object differs."""
        self._sound: set[str] = set()
        """Paths of objects that were as the chart says it now: what differs was changed."""
        self._counted: set[str] = set()
        self._reached = 0
        """Looks in a row at which kube-apiserver reached a gate."""
        self._told: dict[str, str] = {}
        self.loop = Loop("registrations", INTERVAL_S, self.run, forget=self._forget)

    async def run(self, leadership: Leadership) -> None:
        """Look at each object, and write what differs.

        Raises:
            ClusterError: kube-apiserver does not answer, or refuses; the others were looked at.
            InvalidObjectError: the ConfigMap is missing, or cannot be read.
            NotLeaderError: leadership was lost on the way.
        """
        leadership.require()
        try:
            found = await self._read()
            ca = await self._ask(found)
        except SallyportError:
            self._metrics.fail()
            raise
        problems: dict[Key, str] = {}
        failed: list[str] = []
        for each in found:
            fields = self._compare(each, ca)
            problems |= {(each.kind, name): field for name, field in fields.items()}
            if each.problem:
                failed.append(each.problem)
                continue
            try:
                await self._mend(leadership, each, fields, ca)
            except ClusterError as error:
                failed.append(str(error))
        self._metrics.show(
            [(each.kind, name) for each in found for name in names_of(each.wanted)], problems
        )
        if failed:
            raise ClusterError(failed[0])

    async def _read(self) -> list[Registration]:
        """Read what the chart of this release says, and what is there."""
        path = f"/api/v1/namespaces/{self._namespace}/configmaps/{CONFIGMAP}"
        said = await self._objects.get(path)
        if said is None:
            raise InvalidObjectError(f"ConfigMap {CONFIGMAP}", "", "is missing: run helm upgrade")
        if said.get("data") != self._said:
            self._said = said.get("data")
            self._sound.clear()
        wanted = read_registrations(said, self._release)
        other = f"is of another release than {self._release}: what is registered stays as it is"
        self._tell(CONFIGMAP, other if wanted is None else "")
        return [await self._get(each) for each in wanted or ()]

    async def _get(self, each: Registration) -> Registration:
        try:
            return replace(each, live=await self._objects.get(each.path))
        except ClusterError as error:
            return replace(each, problem=str(error))

    async def _ask(self, found: Sequence[Registration]) -> str:
        """Ask whether kube-apiserver reaches a gate; return the CA by which it was asked."""
        if not any(each.asks for each in found):
            self._metrics.reach(math.nan)
            self._tell("gate", "")
            return ""
        before = ca_of(next((each.live for each in found if each.path == PROBE_PATH), None))
        try:
            unreached = await ask(self._objects, self._namespace)
        except ClusterError as error:
            self._metrics.reach(math.nan)
            unreached = f"whether kube-apiserver reaches a gate is not known: {error}"
        else:
            self._metrics.reach(not unreached)
        self._reached = 0 if unreached else self._reached + 1
        self._tell("gate", unreached)
        after = ca_of(await self._objects.get(PROBE_PATH))
        return before if before == after else ""

    def _compare(self, each: Registration, ca: str) -> Mapping[str, str]:
        """Return what differs of one, and note it."""
        if each.problem:
            self._tell(each.path, f"cannot be read: {each.problem}")
            return dict.fromkeys(names_of(each.wanted), UNREADABLE)
        fields = differences(each.wanted, each.live, ca)
        self._tell(each.path, f"differs: {_text(fields)}" if fields else "")
        if not fields:
            self._since.pop(each.path, None)
            self._counted.discard(each.path)
            self._sound.add(each.path)
        elif set(fields.values()) != {CA} and (each.path in self._sound or each.was_written):
            self._count(each, fields)
        return fields

    def _count(self, each: Registration, fields: Mapping[str, str]) -> None:
        """Count, once, that somebody changed one."""
        if each.path in self._counted:
            return
        self._counted.add(each.path)
        for name in fields:
            self._metrics.change((each.kind, name))

    async def _mend(
        self, leadership: Leadership, each: Registration, fields: Mapping[str, str], ca: str
    ) -> None:
        """Write one that differs, once it is time."""
        if not fields:
            await self._writer.disown(leadership, each)
        elif self._is_due(each, fields, ca) and await self._writer.write(leadership, each, ca):
            self._since.pop(each.path, None)
            await self._announce(leadership, each, fields)

    def _is_due(self, each: Registration, fields: Mapping[str, str], ca: str) -> bool:
        """Return whether one that differs is to be written now."""
        if each.asks and not (ca and self._reached >= (IN_A_ROW if each.unregistered else 1)):
            return False
        lasts = self._tick() - self._since.setdefault(each.path, self._tick())
        if set(fields.values()) == {CA}:
            return lasts >= CA_PATIENCE_S
        waits = each.live is None or not each.asks
        return not waits or lasts >= PATIENCE_S

    async def _announce(
        self, leadership: Leadership, each: Registration, fields: Mapping[str, str]
    ) -> None:
        """Log and tell what was written; count what somebody else had changed or deleted."""
        if each.live is None or each.path in self._counted or not each.asks:
            self._count(each, fields)
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
        self._said, self._reached = None, 0
        for each in (self._since, self._sound, self._counted, self._told):
            each.clear()


def _text(fields: Mapping[str, str]) -> str:
    return ", ".join(f"{name} ({field})" for name, field in sorted(fields.items()))
