"""Reads a record of any log: each tells by its own fields which log it is of.

Pure, but for what it remembers of operations of Azure's that have begun. What cannot be read goes
into quarantine with its reason and place, without people or secrets.
"""

from collections.abc import Sequence
from hashlib import sha256
from typing import Any, Final

import msgspec

from audit.access.model.batch import SourceRecord
from audit.access.parsers.activity_log import BegunOperations, activities_of
from audit.access.parsers.caller_networks import CallerLocator
from audit.access.parsers.entra_audit import CATEGORY, parse_entra
from audit.access.parsers.kubernetes_audit import GROUP_OF_EVENTS, parse_kubernetes
from audit.access.parsers.redaction import scrub_record
from audit.access.parsers.storage_fields import (
    CATEGORIES,
    StorageFields,
    fields_from,
    fields_or_object,
)
from audit.access.parsers.storage_log import StorageContext, access_of
from audit.access.parsers.store_index import WeightStores
from core.base.errors import UnreadableRecordError
from core.base.ids import stable_id
from core.weights.documents.access import Access
from core.weights.documents.events import Activity
from core.weights.documents.intake import FORMAT, MOST_RECORD, RefusedRecord


def make_refused_record(  # noqa: PLR0913  What the document says.
    raw: bytes, *, cluster: str, source: str, place: str, reason: str, unix_ms: int
) -> RefusedRecord:
    """Return the document of a record that was refused when it came, at `unix_ms`."""
    digest = sha256(raw).hexdigest()
    return RefusedRecord(
        format=FORMAT,
        id=stable_id(unix_ms, "refused", cluster, source, place, digest),
        cluster=cluster,
        source=source,
        place=place,
        reason=reason,
        size=len(raw),
        digest=f"sha256:{digest}",
        record=scrub_record(raw, MOST_RECORD),
    )


_AUDITS: Final = frozenset({"kube-audit", "kube-audit-admin"})
"""Categories under which AKS exports the audit log: the event is a text in `properties.log`."""

ParsedRecord = Access | Sequence[Activity] | RefusedRecord
"""What a record is; no activity at all where it is of no concern, or of no end."""


class RecordReader:
    """Reads records for one cluster. What operations of Azure's began is remembered for a while."""

    def __init__(self, cluster: str, callers: CallerLocator) -> None:
        self._cluster = cluster
        self._callers = callers
        self._begun = BegunOperations()

    @property
    def begun(self) -> int:
        """How often an operation began: what `saved` gives is another then."""
        return self._begun.noted

    def saved(self) -> bytes:
        """Return what has begun lately, as MessagePack."""
        return self._begun.saved()

    def restore(self, content: bytes) -> None:
        """Take back what `saved` gave, instead of what is remembered.

        Raises:
            ValueError: it is none.
        """
        self._begun.restore(content)

    def read(
        self, record: SourceRecord, source: str, stores: WeightStores, now_ms: int
    ) -> ParsedRecord:
        """Read a record; what cannot be read is given with its reason and its place."""
        if record.problem:
            return self._refused(record, source, record.problem, now_ms)
        try:
            found = fields_or_object(record.raw)
            if isinstance(found, StorageFields):
                reading = StorageContext(self._cluster, source, stores, self._callers)
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
            reading = StorageContext(self._cluster, source, stores, self._callers)
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

    def _refused(
        self, record: SourceRecord, source: str, reason: str, now_ms: int
    ) -> RefusedRecord:
        return make_refused_record(
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
