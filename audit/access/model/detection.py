"""What every detection is: a function of one event and of what it remembers.

A detection sees events one by one, in the order of their times as far as the watermark keeps it. It
looks at no clock and asks nobody: the same events in the same order give the same findings, with
the same ids. Its state is its own, is bounded, and is changed in place, for a copy of it with each
of ten thousand events a second would cost more than all else; nobody else holds it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import msgspec

from audit.access.model.blob_reads import BlobRead, BlobReads
from audit.access.model.coverage import CoverageByAspect
from audit.access.model.sightings import digest_of
from core.weights.documents.access import Access, Act
from core.weights.documents.events import Activity, Finding, LogGap, Severity, Topic
from core.weights.stores import WeightStore

Event = Access | Activity | LogGap

HOUR_S: Final = 3_600

GIB: Final = 1 << 30


class DetectionSurroundings(Protocol):
    """What a detection may know besides events: from memory, as of the event's time."""

    @property
    def cluster(self) -> str:
        """The installation's id of the cluster."""

    @property
    def stores(self) -> Mapping[str, WeightStore]:
        """The WeightStores by name."""

    @property
    def watermark(self) -> float:
        """Unix seconds: events of before are late, and were not waited for."""

    @property
    def tenants(self) -> frozenset[str]:
        """Tenants that are the operator's own, lower case; empty where nobody said."""

    @property
    def subscriptions(self) -> frozenset[str]:
        """Subscriptions that are the operator's own, lower case; empty where nobody said."""

    def at_risk(self, who: str, unix_s: float) -> str:
        """Say how an identity (`oid:…`, `client:…`) stood then; empty where it was not at risk."""


@dataclass(frozen=True)
class Tunable:
    """A number that an operator may set, and why it is what it is."""

    name: str
    """Snake case, of no other detection: it is the setting's key."""
    value: float
    unit: str
    reason: str


class EventContext(msgspec.Struct, frozen=True, gc=False):
    """What `see` gets besides the event and the state; made once for one event."""

    surroundings: DetectionSurroundings
    at: float
    """Unix seconds of the event, of its end for a gap."""
    day: int
    """Of the event, since 1970-01-01 (UTC)."""
    late: bool
    """Whether later ones were shown before it: the ordering had not waited for it."""
    tuned: Mapping[str, float]
    """Each `Tunable` of all detections by its name, with the operator's value if there is one."""
    who: str
    """`who` of the event; empty where it has none. Made once, for most detections ask for it."""
    pair: str
    """Store and who: by what most of what is remembered is kept."""
    done: bool
    """Whether what was asked for was done, as far as the record says."""
    reads: BlobReads
    """Of all stores, before this event."""

    def read_of(self, access: Access) -> BlobRead | None:
        """Return how the blob of an access was read, if it was."""
        return self.reads.get(digest_of(access.container, access.blob))

    def checkpoint_bytes(self, store: str) -> int:
        """Return the size of a full checkpoint; 0 where nobody said."""
        held = self.surroundings.stores.get(store)
        return held.checkpoint_bytes if held else 0


class YoungBaseline(msgspec.Struct, frozen=True, kw_only=True):
    """Something that a detection has seen too little of to judge by."""

    detection: str
    subject: str
    """Principal and store, or container."""
    why: str


@dataclass(frozen=True)
class ResponseStep:
    """What a person does about a finding, and how soon."""

    minutes: int
    """Within so many of the finding."""
    action: str
    """A whole sentence, in the imperative."""


@dataclass(frozen=True)
class Detection:
    """One detection; its file says nothing else."""

    id: str
    """Words with dashes. It is public and stays, whatever its module is called."""
    number: int
    """From 1 on, as docs/detections counts them."""
    title: str
    about: str
    """What it finds, how it decides, and on what it stays quiet: sentences for a person."""
    severity: Severity
    """The most that a finding of it has."""
    techniques: tuple[str, ...]
    """MITRE ATLAS and ATT&CK ids."""
    needs: tuple[str, ...]
    """What must be there for it to see anything, for a person: sources, objects, settings."""
    blind: tuple[str, ...]
    """What it does not see, for a person."""
    remedy: str
    """What to do about a finding."""
    bound: str
    """What its state holds at most, for a person."""
    begin: Callable[[], Any]
    """Gives the state of one that has seen nothing: a msgspec Struct, saved as MessagePack."""
    see: Callable[[Any, Any, EventContext], Sequence[Finding]]
    """Looks at one event (first) with its state (second), changes the state, gives what it found.
    """
    acts: frozenset[Act] = frozenset()
    """Of which accesses it is shown those."""
    refused: frozenset[Act] = frozenset()
    """And those of which it is shown the ones that storage did not do."""
    covers: CoverageByAspect = field(default_factory=dict)
    """Which accesses its findings are about; none where they rest on events that are told one by
    one."""
    topics: frozenset[Topic] = frozenset()
    """Of which activities it is shown those."""
    gaps: bool = False
    """Whether it is shown gaps."""
    elsewhere: Callable[[Access], bool] | None = None
    """Which accesses to what no WeightStore holds it is shown as well, of its acts; most accesses
    of a storage account are of that kind, so it is asked before anything is noted of them."""
    fires: tuple[str, ...] = ()
    """Events that make it fire, for a person."""
    quiet: tuple[str, ...] = ()
    """Events on which it stays quiet though they look alike, for a person."""
    steps: tuple[ResponseStep, ...] = ()
    """What to do now, the most urgent first."""
    recoverable: str = ""
    """What can be brought back, and until when: sentences for a person."""
    tuning: tuple[Tunable, ...] = ()
    young: Callable[[Any, float], Sequence[YoungBaseline]] | None = None
    """Lists what its state (first) knows too little of, as of a time (second)."""

    def is_shown(self, access: Access) -> bool:
        """Return whether it is shown an access."""
        if access.store:
            refused = access.act in self.refused and not access.succeeded
            return refused or access.act in self.acts
        return access.act in self.acts and self.elsewhere is not None and self.elsewhere(access)
