"""Activates a published policy bundle everywhere at once: when every gate has loaded it.

Somebody asks for it (`sallyport policy activate`), each gate loads it and says so, and then the
head says that it is active. A gate that is gone is not waited for; one that refuses it is.
"""

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Final

import msgspec
import structlog
from prometheus_client import CollectorRegistry, Gauge

from control.events import NORMAL, WARNING, event_body
from control.loop import Loop
from core.base.errors import ClusterError
from core.base.times import time_text
from core.policy_bundles import CONTROL, GONE_S, HEAD_NAME, BundleHead, GateAnnouncement
from kube.bundles.store import BundleStore, PublishedHead, with_active
from kube.client.objects import Objects
from kube.leader.lease import Leadership

INTERVAL_S: Final = 2.0

_SAY_S: Final = 20.0
"""How often control writes that what it said of itself holds still."""

_FORGOTTEN_S: Final = 600.0
_FIRST_S: Final = 30.0
"""After the place was made in which gates announce: so long they have to come."""

_ELSEWHERE: Final = frozenset({HTTPStatus.CONFLICT, HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND})

_log = structlog.get_logger(__name__)


@dataclass
class _SeenGate:
    said: GateAnnouncement
    since: float


@dataclass(frozen=True)
class GateRollout:
    """Who has the wanted bundle, who not yet, and who refuses it and why."""

    loaded: tuple[str, ...] = ()
    waiting: tuple[str, ...] = ()
    refused: Mapping[str, str] = field(default_factory=dict)


class BundleActivation:
    """Each run looks at what gates say, and activates. `loop` is its loop."""

    def __init__(  # noqa: PLR0913, PLR0917  Each is another part of the process.
        self,
        objects: Objects,
        namespace: str,
        own: Callable[[], GateAnnouncement],
        registry: CollectorRegistry,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        """`own` is what this process itself has loaded: its sweeps judge by it too."""
        self._store = BundleStore(objects, namespace)
        self._objects = objects
        self._namespace = namespace
        self._own = own
        self._clock = clock
        self._wall = wall
        self._seen: dict[str, _SeenGate] = {}
        self._told: set[str] = set()
        self._gates = Gauge(
            "sallyport_bundle_gates",
            "Gates by what they made of the wanted policy bundle; only the leader shows them.",
            ("state",),
            registry=registry,
        )
        self._pending = Gauge(
            "sallyport_bundle_pending_since_seconds",
            "Unix time since when a policy bundle is wanted and not active; 0 where none is. Only "
            "the leader shows it.",
            registry=registry,
        )
        self._since = (0, 0.0)
        self._made = -math.inf
        self._said: tuple[GateAnnouncement | None, float] = (None, -math.inf)
        self.loop = Loop("bundles", INTERVAL_S, self.run, 60.0, self._forget)

    async def run(self, leadership: Leadership) -> None:
        """Activate what is wanted, where every gate has it.

        Raises:
            ClusterError: kube-apiserver does not answer, or refuses.
            InvalidObjectError: the head cannot be read.
            NotLeaderError: leadership was lost on the way.
        """
        leadership.require()
        read = await self._store.read()
        head = read.head
        gates, own = await self._announced(leadership), self._own()
        await self._say(leadership, own)
        roll = rollout_of(head, gates, own)
        self._show(head, roll)
        if head.wanted == head.active:
            return
        for gate, why in roll.refused.items():
            message = f"{gate} refuses the policy bundle {head.wanted}: {why}"
            await self._tell(leadership, head, (WARNING, "BundleRefused", message), gate)
        first = self._clock() - self._made < _FIRST_S
        if not (first or roll.waiting or roll.refused):
            await self._activate(leadership, read, roll)

    async def _activate(
        self, leadership: Leadership, read: PublishedHead, roll: GateRollout
    ) -> None:
        leadership.require()
        head = with_active(read.head, self._wall())
        try:
            await self._store.write(read, head)
        except ClusterError as error:
            if error.status == HTTPStatus.CONFLICT:
                return  # Somebody wants another: the next run sees which.
            raise
        _log.info("policy bundle activated", bundle=head.active, gates=len(roll.loaded))
        message = f"the policy bundle {head.active} is in force, in place of {head.previous}"
        await self._tell(leadership, head, (NORMAL, "BundleActivated", message), "")

    async def _announced(self, leadership: Leadership) -> Mapping[str, GateAnnouncement]:
        """Return what gates say that are there, by name."""
        said = await self._store.gates()
        if said is None:
            leadership.require()
            await self._store.create_announcements()
            self._made = self._clock()
            said = {}
        said = {name: each for name, each in said.items() if name != CONTROL}
        now = self._clock()
        for gate, each in said.items():
            seen = self._seen.get(gate)
            if seen is None or seen.said.beat != each.beat or seen.said != each:
                self._seen[gate] = _SeenGate(each, now)
        for gate in self._seen.keys() - said.keys():
            del self._seen[gate]
        gone = [gate for gate, seen in self._seen.items() if now - seen.since > _FORGOTTEN_S]
        if gone:
            leadership.require()
            await self._store.forget(gone)
        return {gate: seen.said for gate, seen in self._seen.items() if now - seen.since <= GONE_S}

    async def _say(self, leadership: Leadership, own: GateAnnouncement) -> None:
        """Write what this process has loaded, for people who ask: at once where it is new."""
        what, now = msgspec.structs.replace(own, at=""), self._clock()
        if what == self._said[0] and now - self._said[1] < _SAY_S:
            return
        leadership.require()
        await self._store.announce(
            CONTROL, msgspec.structs.replace(own, at=time_text(self._wall()))
        )
        self._said = (what, now)

    def _show(self, head: BundleHead, roll: GateRollout) -> None:
        pending = head.wanted != head.active
        if pending and self._since[0] != head.turn:
            self._since = (head.turn, self._wall())
        self._pending.set(self._since[1] if pending else 0)
        for state, gates in (
            ("loaded", roll.loaded),
            ("waiting", roll.waiting),
            ("refused", roll.refused),
        ):
            self._gates.labels(state).set(len(gates))

    def _forget(self) -> None:
        self._gates.clear()
        self._pending.set(0)
        self._seen.clear()
        self._said = (None, -math.inf)

    async def _tell(
        self, leadership: Leadership, head: BundleHead, what: tuple[str, str, str], gate: str
    ) -> None:
        """Write an Event about the head, once for each turn and gate."""
        name = f"{HEAD_NAME}.{head.turn}.{what[1].lower()}{'.' + gate if gate else ''}"[:253]
        if name in self._told:
            return
        leadership.require()
        involved = {"apiVersion": "v1", "kind": "ConfigMap", "name": HEAD_NAME}
        involved["namespace"] = self._namespace
        body = event_body(
            {"name": name, "namespace": self._namespace}, involved, what, self._wall()
        )
        try:
            await self._objects.create(f"/api/v1/namespaces/{self._namespace}/events", body)
        except ClusterError as error:
            if error.status not in _ELSEWHERE:
                raise
        self._told.add(name)


def rollout_of(
    head: BundleHead, gates: Mapping[str, GateAnnouncement], own: GateAnnouncement
) -> GateRollout:
    """Say who has the wanted bundle, of the gates that are there and this process itself."""
    loaded, waiting, refused = [], [], {}
    for gate, said in [*gates.items(), (CONTROL, own)]:
        why = said.refused.get(head.wanted)
        if head.wanted in said.loaded and said.turn == head.turn:
            loaded.append(gate)
        elif why is not None and said.turn == head.turn:
            refused[gate] = why
        else:
            waiting.append(gate)
    return GateRollout(tuple(loaded), tuple(waiting), refused)
