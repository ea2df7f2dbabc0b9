"""Resource logs of harm are read from their JSON and found; what only looks like it is not."""

from collections.abc import Iterator

import msgspec
import pytest

from audit.access.detections.engine import DetectionEngine
from audit.access.model.batch import SourceRecord
from audit.access.parsers.caller_networks import CallerLocator, CallerNetworks
from audit.access.parsers.reader import RecordReader
from audit.access.parsers.store_index import WeightStores
from core.base.networks import network_of
from core.weights.documents.access import Access
from core.weights.documents.events import Finding, Severity
from core.weights.stores import WeightStore, parse_store
from tests.harness.worlds.storage_logs import ACCOUNT, BEGIN_MS, CONTAINER
from tests.unit.audit.access.detections.events import Around, attributed, pod
from tests.unit.audit.access.detections.harm_traces import TRACES, HarmTrace, Record

GRAVE = {Severity.HIGH, Severity.CRITICAL}
NODES = CallerNetworks(nodes=(network_of("10.224.0.0/16"),))


def make_store() -> WeightStore:
    """Make the WeightStore of the container that the traces are of."""
    spec = {"account": ACCOUNT, "containers": [{"name": CONTAINER}], "owner": "training"}
    kind = {"apiVersion": "sallyport.dev/v1alpha1", "kind": "WeightStore"}
    meta = {"name": "llama", "uid": "u"}
    return parse_store(msgspec.json.encode({**kind, "metadata": meta, "spec": spec}))


def accesses(records: list[Record], *, granted: bool) -> Iterator[Access]:
    """Read records as they come from a source."""
    reader, stores = RecordReader("east", CallerLocator(NODES)), WeightStores([make_store()])
    for record in records:
        raw = SourceRecord(msgspec.json.encode(record), "trace")
        read = reader.read(raw, "trace", stores, BEGIN_MS)
        assert isinstance(read, Access), read
        assert read.store == "llama", read
        yield msgspec.structs.replace(
            read,
            attribution=attributed(pod()) if granted else attributed(),
            grant="research/train@g1" if granted else "",
        )


def found_in(trace: HarmTrace) -> list[Finding]:
    """Return all that the detections find in a trace."""
    engine, around = DetectionEngine(), Around(stores={"llama": make_store()})
    found: list[Finding] = []
    for access in accesses(list(trace.records), granted=trace.granted):
        found += engine.see(access, around)
    assert engine.broken == {}
    return found


@pytest.mark.parametrize("trace", TRACES, ids=lambda trace: trace.name)
def test_harm_is_found_and_what_looks_like_it_is_not(trace: HarmTrace) -> None:
    """A grave finding of each detection that is named; none at all where none is."""
    grave = {one.detection for one in found_in(trace) if one.severity in GRAVE}
    if trace.finds:
        assert grave >= set(trace.finds)
    else:
        assert grave == set()
