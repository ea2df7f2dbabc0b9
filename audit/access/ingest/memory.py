"""What an ingest knows besides the records, from the ledger: Pods, identities, grants, stores."""

from collections.abc import Mapping
from typing import Final

import msgspec

from audit.access.attribution.grant_history import GrantHistory
from audit.access.attribution.histories import Histories
from audit.access.attribution.risk_history import RiskHistory
from audit.access.model.defaults import MOST_PODS
from audit.access.parsers.store_index import WeightStores
from audit.ledger.records.frames import FrameKind
from core.base.errors import InvalidObjectError
from core.base.sallyport_objects import Metadata, UntypedObject
from core.weights.access_grants import KIND as GRANT
from core.weights.documents.object_change import ObjectChange, decode_change
from core.weights.stores import KIND as STORE
from core.weights.stores import WeightStore, store_of

FORMAT: Final = 2
"""Of what `saved` gives."""

KINDS: Final = frozenset(
    {
        FrameKind.DECISION,
        FrameKind.LOOK_BACK,
        FrameKind.LOG_GAP,
        FrameKind.POD_LIFE,
        FrameKind.CHANGE,
    }
)
"""What it is made of."""


class IngestMemory:
    """Histories of Pods and identities, grants, WeightStores, and who was at risk.

    WeightStores are known as they are now: what held weights last month and does not any more is
    not looked for.
    """

    def __init__(self, most_pods: int = MOST_PODS) -> None:
        self.histories = Histories(most_pods)
        self.grants = GrantHistory()
        self.standings = RiskHistory()
        self.by_name: dict[str, WeightStore] = {}
        self.index = WeightStores(())
        self.unreadable: dict[str, str] = {}
        """Of WeightStores: why one cannot be read, by name. The one before still counts."""
        self._changes: dict[str, ObjectChange] = {}
        """The last of each WeightStore."""

    @property
    def stores(self) -> Mapping[str, WeightStore]:
        """The WeightStores by name."""
        return self.by_name

    @property
    def forgotten_s(self) -> float:
        """Unix seconds: Pods that ended before are forgotten."""
        return self.histories.forgotten_s

    def take(self, kind: int, payload: bytes, projection: bytes | None = None) -> None:
        """Take in a document of the ledger; of kinds that say nothing here, nothing.

        Raises:
            ValueError: it cannot be read.
        """
        self.histories.take(kind, payload, projection)
        self.standings.take(kind, payload)
        if kind == FrameKind.CHANGE:
            change = decode_change(payload)
            if change.kind == GRANT:
                self.grants.take(change)
            elif change.kind == STORE:
                self._take_store(change)

    def forget(self, before_s: float) -> None:
        """Forget Pods, gaps and grants that were gone before a time."""
        self.histories.forget(before_s)
        self.grants.forget(before_s)

    def saved(self) -> bytes:
        """Return all of it as MessagePack, as of now."""
        return msgspec.msgpack.encode(
            {
                "format": FORMAT,
                "histories": self.histories.saved(),
                "grants": self.grants.saved(),
                "standings": self.standings.saved(),
                "stores": [msgspec.json.encode(change) for change in self._changes.values()],
            }
        )

    def restore(self, content: bytes) -> None:
        """Take back what `saved` gave, into one that knows nothing yet.

        Raises:
            ValueError: it is of another format, or none.
        """
        stored = msgspec.msgpack.decode(content)
        if stored.get("format") != FORMAT:
            message = f"a memory of format {stored.get('format')}: this release reads {FORMAT}"
            raise ValueError(message)
        self.histories.restore(stored["histories"])
        self.grants.restore(stored["grants"])
        self.standings.restore(stored["standings"])
        for change in stored["stores"]:
            self._take_store(decode_change(change))

    def _take_store(self, change: ObjectChange) -> None:
        known = self._changes.get(change.name)
        if known is not None and (known.time, known.id) > (change.time, change.id):
            return
        self._changes[change.name] = change
        self.unreadable.pop(change.name, None)
        if change.event == "deleted":
            self.by_name.pop(change.name, None)
        elif change.spec is not None:
            meta = Metadata(name=change.name, uid=change.uid)
            try:
                store = store_of(UntypedObject(meta, change.spec, change.digest))
            except InvalidObjectError as error:
                self.unreadable[change.name] = str(error)
                return
            self.by_name[change.name] = store
        self.index = WeightStores(self.by_name.values())
