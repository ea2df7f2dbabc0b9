"""The look-back on an identity at risk: what it did that is still there, and its document.

`docs/reference/look-back.schema.json` is made from this module. Nothing here names a person.
"""

import enum
from typing import Final

import msgspec

from core.base.document_part import DocumentPart, require_format
from core.kubernetes.workload_kinds import GroupKind

FORMAT: Final = 1
"""Version of the document. Readers of release N read FORMAT - 1 and FORMAT + 1 as well."""

MOST_ITEMS: Final = 1000
"""Items kept of one identity, the gravest; the rest is counted."""


MOST_STORES: Final = 100


class Sort(enum.Enum):
    """What an item is. The gravest first: so they are listed."""

    ENTERED = "entered"
    """A Pod, Service or node that somebody entered: exec, attach, port-forward, proxies, debug
    containers."""
    CREDENTIAL = "credential"
    """A token or certificate, which outlives whatever becomes of its maker."""
    GRANTED = "granted"
    """An AccessGrant that names it, whoever wrote that: it may open model weights."""
    RIGHTS = "rights"
    """Roles, bindings, profiles, marks of namespaces."""
    APPROVAL = "approval"
    OPENING = "opening"
    """What excuses or opens something: exceptions, allowlists, BreakGlasses."""
    WORKLOAD = "workload"
    IDENTITY = "identity"
    """Pods that can sign in as a service principal at risk, whoever made them."""


class State(enum.Enum):
    """What became of an item."""

    THERE = "there"
    OUTLIVES = "outlives"
    """Nobody can tell whether it still counts: a token or certificate does until it expires."""
    UNKNOWN = "unknown"
    """Its kind could not be listed; the document's `gaps` say why."""


class RecordedAct(
    msgspec.Struct, frozen=True, gc=False, omit_defaults=True, rename="camel", kw_only=True
):
    """One recorded decision that let somebody do something, as far as looking back reads it."""

    id: str
    """Of the decision, UUIDv7: its time is the act's."""
    operation: str
    kind: str
    version: str = ""
    group: str = ""
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    uid: str = ""
    """Of the object, or of the Pod that was entered; empty where none was recorded."""


class LiveObject(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """What looking back reads of an object that is there. Times are Unix seconds."""

    group: str
    kind: str
    namespace: str = ""
    name: str
    uid: str
    created: int
    changed: int = 0
    """When anything but its status was last written; 0 where nothing says so."""
    requester: str = ""
    """Its requester note, in lower case."""
    writers: frozenset[str] = frozenset()
    """Marks of its author, its editors, who activated it, whose approval it is."""
    owner: str = ""
    """UID of the object that controls it."""
    client_ids: frozenset[str] = frozenset()
    """Lower case: of a Pod, those that it can sign in as."""
    granted: frozenset[str] = frozenset()
    """Lower case: of an AccessGrant, the labels of whom it names, and client ids as `client:…`."""

    @property
    def group_kind(self) -> GroupKind:
        """Its API group and kind."""
        return self.group, self.kind


class Item(DocumentPart, frozen=True):
    """One object that an identity started, changed or entered."""

    sort: Sort
    state: State
    at: str
    """RFC 3339: of the last act, or, without one, when the object was made or last changed."""
    how: str
    """`started`, `changed`, `entered`, `approved`, of an identity `can-sign-in`, of a grant
    `may-open`."""
    kind: str
    group: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""
    acts: int = 0
    """Recorded decisions on it; 0 where only the object itself says whose it is."""
    decision: str = ""
    """The last of them; `sallyport explain` says more of it."""
    pods: int = 0
    """Live Pods that come from it."""


class StoreReads(DocumentPart, frozen=True, kw_only=True):
    """What an identity read of one WeightStore, itself or by Pods that it had asked for."""

    store: str
    reads: int
    """Requests that gave it weights, copies too; what storage refused is none."""
    bytes: int = 0
    first: str
    """RFC 3339."""
    last: str
    ungranted: int = 0
    """Of these, without a live grant."""
    by_pods: int = 0
    """Of these, by Pods that it had asked for."""
    unsure: int = 0
    """Of those, where it may have been another's Pod."""


def join_reads(one: StoreReads, other: StoreReads) -> StoreReads:
    """Return both together, of the same store."""
    return StoreReads(
        store=one.store,
        reads=one.reads + other.reads,
        bytes=one.bytes + other.bytes,
        first=min(one.first, other.first),
        last=max(one.last, other.last),
        ungranted=one.ungranted + other.ungranted,
        by_pods=one.by_pods + other.by_pods,
        unsure=one.unsure + other.unsure,
    )


class LookBackDocument(DocumentPart, frozen=True):
    """What one identity did in a window of time, and what of it is still there."""

    format: int
    id: str
    """UUIDv7."""
    cluster: str
    subject: str
    """`Subject.label`, an Entra object id with `oid:`, or `client:` and a client id."""
    begin: str
    """RFC 3339: what was done before is not in here."""
    end: str
    standing: str = ""
    """The worst that is said of it; empty where somebody asked without a risk."""
    since: str = ""
    """RFC 3339: when it came to be at risk."""
    events: list[str] = []
    """Ids of the detections or events that the risk rests on."""
    event_types: list[str] = []
    items: list[Item] = []
    """The gravest sort first, then the latest; at most MOST_ITEMS."""
    more_items: int = 0
    more_acts: int = 0
    """Decisions on objects beyond those that are told apart: they are only counted."""
    gone: dict[str, int] = {}
    """Objects that are not there any more, by sort."""
    older: int = 0
    """Objects of theirs that are there, and that nobody has seen them touch in the window."""
    namespaces: dict[str, int] = {}
    """Items by namespace; those that lie in none under the empty name."""
    suspended: list[str] = []
    """`namespace/name` of the PolicyExceptions that are not in force while the risk lasts."""
    gaps: list[str] = []
    """What could not be looked at, and why."""
    reads: list[StoreReads] = []
    """What it read of the weights since `begin`; the most bytes first, at most MOST_STORES."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing at all was found, gone or there."""
        found = self.items or self.gone or self.older or self.more_acts or self.suspended
        return not (found or self.reads)


def trim_items(document: LookBackDocument, most: int) -> LookBackDocument:
    """Return the document with as many of its items as leave it at most `most` bytes long."""
    while len(encode_look_back(document)) > most and document.items:
        kept = document.items[: len(document.items) * 3 // 4]
        more = document.more_items + len(document.items) - len(kept)
        document = msgspec.structs.replace(document, items=kept, more_items=more)
    return document


_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder(LookBackDocument)


def encode_look_back(document: LookBackDocument) -> bytes:
    """Return the document as JSON."""
    return _ENCODER.encode(document)


def decode_look_back(content: bytes) -> LookBackDocument:
    """Read a document of this format, the one before or the one after.

    Raises:
        ValueError: it is none; the message names the field.
    """
    document = _DECODER.decode(content)
    require_format(document.format, FORMAT)
    return document
