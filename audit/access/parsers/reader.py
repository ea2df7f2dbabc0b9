"""Reads what stands in a log, whichever log it is: each record tells by its own fields.

Pure, but for what it remembers of operations of Azure's that have begun.
"""

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from audit.access.model.batch import Record
from audit.access.parsers.activity_log import Begun, activities_of
from audit.access.parsers.caller_networks import Callers
from audit.access.parsers.entra_audit import CATEGORY, parse_entra
from audit.access.parsers.kubernetes_audit import GROUP_OF_EVENTS, parse_kubernetes
from audit.access.parsers.refusing import refused
from audit.access.parsers.shapes import fields_from, fields_or_object
from audit.access.parsers.storage_fields import CATEGORIES, Fields
from audit.access.parsers.storage_log import Reading, access_of
from audit.access.parsers.store_index import WeightStores
from core.base.errors import UnreadableRecordError
from core.weights.access import Access
from core.weights.events import Activity
from core.weights.intake import RefusedRecord

_AUDITS: Final = frozenset({"kube-audit", "kube-audit-admin"})
"""Categories under which AKS exports the audit log: the event is a text in `properties.log`."""

Read = Access | Sequence[Activity] | RefusedRecord
"""What a record is; no activity at all where it is of no concern, or of no end."""


class Reader:
    """Reads records for one cluster. What operations of Azure's began is remembered for a while."""

    def __init__(self, cluster: str, callers: Callers) -> None:
        self._cluster = cluster
        self._callers = callers
        self._begun = Begun()

    @property
    def begun(self) -> int:
        """How often an operation began: what `saved` gives is another then."""
        return self._begun.noted

    def saved(self) -> bytes:
        """Give what has begun lately, as MessagePack."""
        return self._begun.saved()

    def restore(self, content: bytes) -> None:
        """Take back what `saved` gave, instead of what is remembered.

        Raises:
            ValueError: it is none.
        """
        self._begun.restore(content)

    def read(self, record: Record, source: str, stores: WeightStores, now_ms: int) -> Read:
        """Read a record; what cannot be read is given with its reason and its place."""
        if record.problem:
            return self._refused(record, source, record.problem, now_ms)
        try:
            found = fields_or_object(record.raw)
            if isinstance(found, Fields):
                reading = Reading(self._cluster, source, stores, self._callers)
                return access_of(found, {}, record.raw, reading)
            return self._object(found, record.raw, source, stores)
        except UnreadableRecordError as error:
            return self._refused(record, source, str(error), now_ms)

    def _object(
        self, found: dict[str, Any], raw: bytes, source: str, stores: WeightStores
    ) -> Access | Sequence[Activity]:
        version = found.get("apiVersion")
        if isinstance(version, str) and version.startswith(GROUP_OF_EVENTS):
            return self._kubernetes(raw, source)
        low = {name.lower(): value for name, value in found.items()}
        category = low.get("category")
        category = category if isinstance(category, str) else ""
        if category in CATEGORIES:
            fields, extra = fields_from(found)
            reading = Reading(self._cluster, source, stores, self._callers)
            return access_of(fields, extra, raw, reading)
        if category in _AUDITS:
            return self._kubernetes(_logged(low), source)
        if category == CATEGORY:
            return parse_entra(found, self._cluster, source, self._callers)
        if "metricname" in low:
            return ()
        if "operationname" in low or "operationnamevalue" in low:
            return activities_of(found, self._cluster, source, stores, self._callers, self._begun)
        raise UnreadableRecordError("is of no log that is read here", "category")

    def _kubernetes(self, raw: bytes | msgspec.Raw, source: str) -> tuple[Activity, ...]:
        activity = parse_kubernetes(raw, self._cluster, source, self._callers)
        return () if activity is None else (activity,)

    def _refused(self, record: Record, source: str, reason: str, now_ms: int) -> RefusedRecord:
        return refused(
            record.raw,
            cluster=self._cluster,
            source=source,
            place=record.place,
            reason=reason,
            unix_ms=now_ms,
        )


def _logged(low: dict[str, Any]) -> bytes:
    properties = low.get("properties")
    logged = properties.get("log") if isinstance(properties, dict) else None
    if not isinstance(logged, str):
        raise UnreadableRecordError("has no text", "properties.log")
    return logged.encode()
