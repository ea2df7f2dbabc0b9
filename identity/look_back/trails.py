"""What an identity left behind: recorded acts and live objects, joined as they are read.

Memory is bounded by MOST_OBJECTS for each identity, however much it did.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

import msgspec

from core.base.ids import uuid7_unix_ms
from core.kubernetes.workload_kinds import GroupKind
from core.risk.look_back import LiveObject, RecordedAct, Sort
from identity.look_back.subjects import IdentityAtRisk, describe_act, sort_of, target_of

MOST_OBJECTS: Final = 10_000
"""Objects of one identity that are told apart; acts on further ones are counted. About 7 MB."""

MOST_TOGETHER: Final = 50_000
"""The same of all identities that are looked back on together."""

_DEEPEST: Final = 8
"""Owners between a Pod and the workload that it comes from; RayJob to Pod has three."""

_MADE_LATER_S: Final = 5
"""An object made so long after an act on its name is another one: clocks, and whole seconds."""


Key = tuple[Sort, str, str, str, str, str]
"""Sort, API group, kind, namespace, and UID; or name, where no UID is known."""


def _key(sort: Sort, kind: GroupKind, namespace: str, name: str, uid: str) -> Key:
    return (sort, *kind, namespace, "" if uid else name, uid)


@dataclass(slots=True)
class Trace:
    """One object that an identity touched."""

    whose: bytes
    """`Risen.key`."""
    sort: Sort
    kind: GroupKind
    namespace: str
    name: str
    uid: str
    at: int
    """Unix seconds: of the last act, else of the object."""
    how: str
    acts: int = 0
    decision: str = ""
    there: bool = False
    pods: int = 0


@dataclass
class ObjectBudget:
    """How many objects may still be told apart, by all trails together."""

    left: int = MOST_TOGETHER


@dataclass
class Trail:
    """What is known of one identity so far."""

    risen: IdentityAtRisk
    room: ObjectBudget = field(default_factory=ObjectBudget)
    traces: dict[Key, Trace] = field(default_factory=dict)
    more_acts: int = 0
    older: int = 0
    suspended: list[str] = field(default_factory=list)

    def add_act(self, act: RecordedAct) -> None:
        """Note a recorded act."""
        target = target_of(act)
        if target is None:
            return
        sort, kind = target
        key = _key(sort, kind, act.namespace, act.name, act.uid)
        trace = self.traces.get(key)
        if trace is None:
            how = describe_act(sort, act.operation)
            whose = self.risen.key
            trace = Trace(whose, sort, kind, act.namespace, act.name, act.uid, 0, how)
            if not self._keep(key, trace):
                return
        trace.acts += 1
        at = uuid7_unix_ms(act.id) // 1000
        if at >= trace.at:
            trace.at, trace.decision = at, act.id

    def add_live(self, live: LiveObject, sort: Sort, how: str, at: int) -> Trace:
        """Note an object that says itself whose it is, and give its trace."""
        kind = live.group_kind
        key = _key(sort, kind, live.namespace, live.name, live.uid)
        trace = self.traces.get(key)
        if trace is None:
            whose = self.risen.key
            trace = Trace(whose, sort, kind, live.namespace, live.name, live.uid, at, how)
            self._keep(key, trace)
        trace.there = True
        return trace

    def _keep(self, key: Key, trace: Trace) -> bool:
        """Keep a new trace, or count it where there is no room."""
        if len(self.traces) >= MOST_OBJECTS or not self.room.left:
            self.more_acts += 1
            return False
        self.traces[key] = trace
        self.room.left -= 1
        return True


class Trails:
    """The trails of several identities, over which one pass through the cluster is made.

    Give it all recorded acts first (`Trail.add_act`), then `index`, then every live object, the
    Pods last.
    """

    def __init__(self, trails: Sequence[Trail], *, recorded: bool, suspends: bool = False) -> None:
        """Take the trails; `recorded` says whether there are records of acts at all.

        With `suspends`, exceptions that somebody at risk wrote are not in force.
        """
        self.trails = trails
        self._recorded = recorded
        self._suspends = suspends
        self._by_label = {label.lower(): each for each in trails for label in each.risen.labels}
        self._by_client = {
            client_id: each for each in trails for client_id in each.risen.client_ids
        }
        self._by_uid: dict[str, list[Trace]] = {}
        self._by_name: dict[tuple[str, str, str, str], list[Trace]] = {}
        self._roots: dict[str, list[Trace]] = {}
        self._owners: dict[str, str] = {}

    @property
    def client_ids(self) -> frozenset[str]:
        """All client ids that are looked for in Pods."""
        return frozenset(self._by_client)

    def index(self) -> None:
        """Take up what the acts were on, so that live objects can be matched with it."""
        for trail in self.trails:
            for trace in trail.traces.values():
                if trace.uid:
                    self._by_uid.setdefault(trace.uid, []).append(trace)
                elif trace.name:
                    name = (*trace.kind, trace.namespace, trace.name)
                    self._by_name.setdefault(name, []).append(trace)

    def kinds(self) -> frozenset[GroupKind]:
        """Return the kinds of all objects that were acted on; credentials are not looked for."""
        return frozenset(
            trace.kind
            for trail in self.trails
            for trace in trail.traces.values()
            if (trace.name or trace.uid) and trace.sort is not Sort.CREDENTIAL
        )

    def see(self, live: LiveObject) -> None:
        """Take in a live object."""
        known = self._matched(live)
        for trace in known:
            trace.there = True
            trace.name = trace.name or live.name  # It was made with `generateName`.
        self._note_owned(live, known)
        for trail in self._theirs(live):
            self._claim(trail, live, known)
        for client_id in live.client_ids:
            self._claim_identity(self._by_client.get(client_id), live)
        for label in live.granted:
            self._claim_granted(label, live)
        if live.owner and live.group_kind == ("", "Pod"):
            for trace in self._roots_of(live.owner):
                trace.pods += 1

    def _matched(self, live: LiveObject) -> list[Trace]:
        found = self._by_uid.get(live.uid, [])
        name = (live.group, live.kind, live.namespace, live.name)
        named = self._by_name.get(name, ())
        return [*found, *(each for each in named if live.created <= each.at + _MADE_LATER_S)]

    def _theirs(self, live: LiveObject) -> list[Trail]:
        marks = set(live.writers)
        if live.requester and not live.owner:  # Controllers copy annotations to what they make.
            marks.add(live.requester)
        found = {id(trail): trail for mark in marks if (trail := self._by_label.get(mark))}
        return list(found.values())

    def _claim(self, trail: Trail, live: LiveObject, known: Iterable[Trace]) -> None:
        """Note what the object itself says: whose it is, and when that may have come about."""
        sort = sort_of(live.group, live.kind)
        if self._suspends and live.kind == "PolicyException":
            trail.suspended.append(f"{live.namespace}/{live.name}")
        mine = [each for each in known if each.whose == trail.risen.key]
        if any(each.sort is sort for each in mine):
            return
        begin = trail.risen.begin
        if live.created >= begin:
            trace = trail.add_live(live, sort, describe_act(sort, "CREATE"), live.created)
        elif live.changed >= begin and not self._recorded:
            trace = trail.add_live(live, sort, describe_act(sort, "UPDATE"), live.changed)
        else:
            trail.older += 1
            return
        if sort is Sort.WORKLOAD:
            self._roots.setdefault(live.uid, []).append(trace)

    def _claim_identity(self, trail: Trail | None, live: LiveObject) -> None:
        """Note Pods of one owner, or of none, as one item."""
        if trail is None:
            return
        shared = msgspec.structs.replace(live, uid=live.owner or live.uid)
        trace = trail.add_live(shared, Sort.IDENTITY, "can-sign-in", live.created)
        trace.pods += live.group_kind == ("", "Pod")

    def _claim_granted(self, label: str, live: LiveObject) -> None:
        """Note a grant that names an identity: by a label, or by a client id."""
        client = label.removeprefix("client:")
        trail = self._by_label.get(label) or self._by_client.get(client)
        if trail is not None:
            trail.add_live(live, Sort.GRANTED, "may-open", live.created)

    def _note_owned(self, live: LiveObject, known: Collection[Trace]) -> None:
        if live.group_kind == ("", "Pod"):
            return
        if live.owner:
            self._owners[live.uid] = live.owner
        roots = [each for each in known if each.sort is Sort.WORKLOAD]
        if roots:
            self._roots.setdefault(live.uid, []).extend(roots)

    def _roots_of(self, owner: str) -> list[Trace]:
        for _ in range(_DEEPEST):
            found = self._roots.get(owner)
            if found is not None:
                return found
            owner = self._owners.get(owner, "")
        return []
