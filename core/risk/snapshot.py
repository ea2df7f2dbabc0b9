"""The risk of all identities in memory: one immutable value, from which decisions are made.

Entries are kept as bytes, since 100,000 objects with their texts would take ten times the memory.
A snapshot is a *base* and the *changes* since it was written; both are shared with the next one.
`core.risk.snapshot_storage` says how it is stored.
"""

import uuid
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

import msgspec

from core.risk.columns import SnapshotBase
from core.risk.model import (
    Application,
    Behaviour,
    BehaviourEntry,
    RiskEntry,
    RiskSource,
    identity_key,
)
from core.risk.records import (
    RecordSort,
    not_at_risk_since,
    pack_application,
    pack_behaviour,
    pack_entry,
    unpack_application,
    unpack_behaviour,
    unpack_entry,
)

FORMAT: Final = 1
"""Version of a stored snapshot. Readers of release N read FORMAT - 1 and FORMAT + 1 as well."""

_APPLICATION: Final = bytes([RecordSort.APPLICATION])
_BEHAVIOUR: Final = bytes([RecordSort.BEHAVIOUR])
_GUEST: Final = bytes([RecordSort.GUEST])
_SOURCES: Final = {source: bytes([source]) for source in RiskSource}

_UNCHANGED: Final[Any] = object()

Records = Mapping[bytes, bytes]
"""By key: a byte for what it is (a source, an application, a behaviour), and 16 of whom."""

Changes = Mapping[bytes, bytes | None]
"""Records that are new or changed, and None for those that are gone."""


class Coverage(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """How far what Entra says of one sort of identity is known. Times are Unix seconds."""

    as_of: float | None = None
    """Everything that changed before is in the snapshot; None until a first pass over all is."""
    through: str = ""
    """The latest `riskLastUpdatedDateTime` that was read, as Graph wrote it: where to go on."""
    full: float | None = None
    """When the last pass over all of them was complete."""
    problem: str = ""
    """Why it is not kept up, for a person; empty while it is."""
    unlicensed: bool = False
    """Whether the tenant lacks the licence: nobody is assessed, nobody is clean."""


class Head(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, kw_only=True):
    """What a snapshot says of itself."""

    version: int = 0
    """Grows by one with each write."""
    written: float = 0.0
    tenant: str = ""
    """The tenant's id."""
    users: Coverage = Coverage()
    service_principals: Coverage = Coverage()
    user_events: Coverage = Coverage()
    """Of detections of users: which events their risk rests on."""
    service_principal_events: Coverage = Coverage()
    applications: Coverage = Coverage()
    """Of what the cluster's client ids stand for."""
    guests: Coverage = Coverage()
    behaviour: Coverage = Coverage()
    table: str = ""
    """The site's table as `control` found it sound; empty where there is none."""


@dataclass(frozen=True)
class RiskSnapshot:
    """The risk of all identities, as of one moment."""

    head: Head = field(default_factory=Head)
    base: Records = field(default_factory=SnapshotBase)
    changes: Changes = field(default_factory=dict)
    event_types: tuple[str, ...] = ("",)
    """What the records' numbers of event types mean."""

    def entry(self, source: RiskSource, key: bytes) -> RiskEntry | None:
        """Return what a source says of an identity; None for nothing. See `identity_key`."""
        record = self.record(_SOURCES[source] + key)
        return unpack_entry(record, self.event_types) if record is not None else None

    def application(self, client_id: str) -> Application | None:
        """Return what a client id stands for; None where nobody has asked Entra yet."""
        record = self.record(_APPLICATION + identity_key(client_id))
        return unpack_application(record) if record is not None else None

    def behaviour(self, key: bytes, now: float) -> Behaviour:
        """Return what an identity does now that is unusual."""
        record = self.record(_BEHAVIOUR + key)
        if record is None:
            return Behaviour(0)
        found = unpack_behaviour(record)
        return found.behaviour if now < found.until else Behaviour(0)

    def is_guest(self, key: bytes) -> bool:
        """Return whether a user is a guest, whose risk lies in another tenant."""
        return self.record(_GUEST + key) is not None

    def entries(self, source: RiskSource) -> Iterator[tuple[bytes, RiskEntry]]:
        """Yield all entries of a source, by key."""
        for key, record in self.records(_SOURCES[source]):
            yield key[1:], unpack_entry(record, self.event_types)

    def applications(self) -> Iterator[tuple[str, Application]]:
        """Yield all client ids, as GUIDs in lower case, and what they stand for."""
        for key, record in self.records(_APPLICATION):
            yield str(uuid.UUID(bytes=key[1:])), unpack_application(record)

    def behaviours(self) -> Iterator[tuple[bytes, BehaviourEntry]]:
        """Yield all identities that do something unusual, by key, also what counts no more."""
        for key, record in self.records(_BEHAVIOUR):
            yield key[1:], unpack_behaviour(record)

    def records(self, prefix: bytes = b"") -> Iterator[tuple[bytes, bytes]]:
        """Yield all records whose key begins so."""
        base = self.base
        for key, record in base.pairs(prefix) if isinstance(base, SnapshotBase) else base.items():
            if key not in self.changes and key.startswith(prefix):
                yield key, record
        for key, changed in self.changes.items():
            if changed is not None and key.startswith(prefix):
                yield key, changed

    def record(self, key: bytes) -> bytes | None:
        """Return the record of a key; None where there is none."""
        found = self.changes.get(key, _UNCHANGED)
        return self.base.get(key) if found is _UNCHANGED else found


@dataclass
class SnapshotDraft:
    """A snapshot that is being changed; `finish` gives the next one, and the old one stays."""

    before: RiskSnapshot
    head: Head
    _changes: dict[bytes, bytes | None] = field(default_factory=dict)
    _types: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, before: RiskSnapshot) -> "SnapshotDraft":
        """Begin with a snapshot."""
        types = {name: number for number, name in enumerate(before.event_types)}
        return cls(before, before.head, _types=types)

    def entry(self, source: RiskSource, key: bytes) -> RiskEntry | None:
        """Return what a source says of an identity now."""
        record = self._now(_SOURCES[source] + key)
        return unpack_entry(record, tuple(self._types)) if record is not None else None

    def says_of_fewer(self, source: RiskSource, than: int) -> bool:
        """Return whether a source says something of fewer identities; counted only where needed."""
        prefix, base = _SOURCES[source], self.before.base
        held = base.count(source) if isinstance(base, SnapshotBase) else len(base)
        if held + len(self.before.changes) + len(self._changes) < than:
            return True
        changes = {**self.before.changes, **self._changes}
        of_it = ((key, record) for key, record in changes.items() if key.startswith(prefix))
        return held + sum((record is not None) - (key in base) for key, record in of_it) < than

    def put(self, source: RiskSource, key: bytes, entry: RiskEntry) -> None:
        """Set what a source says of an identity."""
        self._set(_SOURCES[source] + key, pack_entry(entry, self._types))

    def drop(self, source: RiskSource, key: bytes) -> None:
        """Take away what a source says of an identity."""
        self._set(_SOURCES[source] + key, None)

    def application(self, client_id: str) -> Application | None:
        """Return what a client id stands for now."""
        record = self._now(_APPLICATION + identity_key(client_id))
        return unpack_application(record) if record is not None else None

    def put_application(self, client_id: str, application: Application) -> None:
        """Set what a client id stands for."""
        self._set(_APPLICATION + identity_key(client_id), pack_application(application))

    def drop_application(self, client_id: str) -> None:
        """Forget a client id."""
        self._set(_APPLICATION + identity_key(client_id), None)

    def put_behaviour(self, key: bytes, acting: BehaviourEntry | None) -> None:
        """Set what an identity does that is unusual; None for nothing."""
        self._set(_BEHAVIOUR + key, pack_behaviour(acting) if acting else None)

    def put_guest(self, key: bytes, *, is_guest: bool) -> None:
        """Set whether a user is a guest."""
        self._set(_GUEST + key, b"" if is_guest else None)

    @property
    def changed(self) -> bool:
        """Whether a record or the head differs from the snapshot before."""
        return bool(self._changes) or self.head != self.before.head

    def finish(self, now: float) -> RiskSnapshot:
        """Return the next snapshot; what changed is beside the base, which is shared."""
        head = msgspec.structs.replace(self.head, version=self.before.head.version + 1, written=now)
        base = self.before.base
        changes = {**self.before.changes, **self._changes}
        for key, record in self._changes.items():
            if base.get(key) == record:
                del changes[key]
        return replace(self.before, head=head, changes=changes, event_types=tuple(self._types))

    def _now(self, key: bytes) -> bytes | None:
        return self._changes[key] if key in self._changes else self.before.record(key)

    def _set(self, key: bytes, record: bytes | None) -> None:
        if self._now(key) != record:
            self._changes[key] = record


def rebase_snapshot(
    snapshot: RiskSnapshot, base: Records, near: Iterable[bytes], left_out: Collection[bytes] = ()
) -> RiskSnapshot:
    """Return the same over another base, which differs from its own in the keys `near` alone.

    Where the base has what the snapshot says of a key, nothing is beside the base. Keys in
    `left_out` are those that the base had no room for: they stay out while they say no risk.
    """
    wanted = {key: snapshot.record(key) for key in {*near, *snapshot.changes}}
    changes = {
        key: record
        for key, record in wanted.items()
        if base.get(key) != record and not (key in left_out and _spared(key, record))
    }
    return replace(snapshot, base=base, changes=changes)


def _spared(key: bytes, record: bytes | None) -> bool:
    return record is not None and not_at_risk_since(key, record) is not None
