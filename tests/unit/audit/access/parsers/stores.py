"""WeightStores and callers for tests of records."""

import json
from typing import Any, Final

from audit.access.parsers.caller_networks import CallerLocator, CallerNetworks
from audit.access.parsers.storage_fields import StorageFields, fields_from, fields_or_object
from audit.access.parsers.storage_log import StorageContext, access_of
from audit.access.parsers.store_index import WeightStores
from core.base.networks import network_of
from core.weights.documents.access import Access
from core.weights.stores import WeightStore, parse_store
from tests.harness.worlds.storage_logs import ACCOUNT, CONTAINER, encoded, storage_record

CALLERS: Final = CallerLocator(
    CallerNetworks(
        pods=(network_of("10.240.0.0/16"),),
        nodes=(network_of("10.224.0.0/16"), network_of("fd00:1::/64")),
        networks=(network_of("10.0.0.0/8"), network_of("198.51.100.7/32")),
    )
)


def store(name: str = "llama", account: str = ACCOUNT, *containers: dict[str, Any]) -> WeightStore:
    """Return a WeightStore of an account; of all of CONTAINER where none is named."""
    spec = {
        "account": account,
        "containers": list(containers) or [{"name": CONTAINER}],
        "owner": "the weights team",
    }
    meta = {"name": name, "uid": f"uid-{name}", "resourceVersion": "1"}
    kind = {"apiVersion": "sallyport.dev/v1alpha1", "kind": "WeightStore"}
    return parse_store(json.dumps({**kind, "metadata": meta, "spec": spec}).encode())


STORES: Final = WeightStores([store()])


def parsed(**fields: Any) -> Access:
    """Return the access of a record that has these fields."""
    return read(storage_record(**fields))


def read(record: dict[str, Any]) -> Access:
    """Return the access of a record."""
    return line_read(encoded(record))


def line_read(line: bytes, source: str = "logs") -> Access:
    """Return the access of a line of a log of storage.

    Raises:
        UnreadableRecordError: it is none.
    """
    found = fields_or_object(line)
    fields, extra = (found, {}) if isinstance(found, StorageFields) else fields_from(found)
    return access_of(fields, extra, line, StorageContext("aks-1", source, STORES, CALLERS))
