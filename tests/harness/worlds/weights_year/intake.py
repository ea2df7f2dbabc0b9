"""The way of a year's records from a source to the detections, and what came of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import msgspec

from audit.access.attribution.candidates import attribute
from audit.access.attribution.grants import find_covering_grant
from audit.access.detections.catalogue import DETECTIONS
from audit.access.detections.engine import DetectionEngine
from audit.access.ingest.state import IngestOptions, IngestState
from audit.access.model.batch import SourceRecord
from audit.access.parsers.caller_networks import CallerLocator, CallerNetworks
from audit.access.parsers.reader import RecordReader
from audit.access.parsers.store_index import WeightStores
from audit.ledger.records.frames import FrameKind
from core.base.networks import network_of
from core.weights.documents.access import Access
from core.weights.documents.events import Finding, decode_gap
from core.weights.documents.intake import RefusedRecord
from tests.harness.worlds.storage_logs import SUBSCRIPTION, TENANT
from tests.harness.worlds.weights_year.attacks import Planted
from tests.harness.worlds.weights_year.people import CLUSTER, DAY, LOG, START, Happening

CALLERS: Final = CallerNetworks(
    pods=(network_of("10.244.0.0/16"),), nodes=(network_of("10.225.0.0/16"),)
)


@dataclass
class Outcome:
    """What came of one year."""

    days: int
    planted: list[Planted]
    findings: list[Finding] = field(default_factory=list)
    accesses: int = 0
    refused: int = 0
    broken: dict[str, str] = field(default_factory=dict)


class Taker:
    """The way of a record from a source to the detections."""

    def __init__(
        self,
        outcome: Outcome,
        expected: Mapping[str, frozenset[str]],
        callers: CallerNetworks = CALLERS,
    ) -> None:
        """Begin with nothing seen; the settings are `weights.expected` and `.networks`."""
        self._outcome = outcome
        self._options = IngestOptions(
            tenants=frozenset({TENANT}), subscriptions=frozenset({SUBSCRIPTION})
        )
        engine = DetectionEngine(DETECTIONS, expected=expected, on_failure=self._note)
        self._state = IngestState(CLUSTER, self._options, engine)
        self._reader = RecordReader(CLUSTER, CallerLocator(callers))
        self._stores: WeightStores | None = None
        self._forgotten = START

    def take(self, happening: Happening) -> None:
        """Take in a record of a log, or a document of the ledger."""
        memory, watch = self._state.memory, self._state.watch
        if happening.kind != LOG:
            memory.take(happening.kind, happening.content)
            if happening.kind == FrameKind.LOG_GAP:
                self._outcome.findings += watch.show([decode_gap(happening.content)])
            return
        if self._stores is None:
            self._stores = WeightStores(memory.stores.values())
        if happening.at > self._forgotten + 7 * DAY:
            self._forgotten = happening.at
            memory.forget(happening.at - 3 * DAY)
        record = SourceRecord(happening.content, "year")
        read = self._reader.read(record, "year", self._stores, int(happening.at * 1000))
        if isinstance(read, RefusedRecord):
            self._outcome.refused += 1
        elif isinstance(read, Access):
            self._outcome.accesses += 1
            self._outcome.findings += watch.show([self._known(read)])
        else:
            self._outcome.findings += watch.show(read)

    def end(self) -> None:
        """Show what was held back."""
        self._outcome.findings += self._state.watch.flush(float("inf"))

    def _known(self, access: Access) -> Access:
        memory = self._state.memory
        found = attribute(access, memory.histories, self._options.rules)
        grant = find_covering_grant(access, found, memory.histories, memory.grants)
        return msgspec.structs.replace(
            access,
            attribution=found.attribution,
            grant=grant.grant,
            ungranted=grant.ungranted,
        )

    def _note(self, detection: str, error: Exception) -> None:
        self._outcome.broken[detection] = repr(error)
