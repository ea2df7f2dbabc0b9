"""Reads a record of any log: each tells by its own fields which log it is of.

Pure, but for what it remembers of operations of Azure's that have begun. What cannot be read goes
into quarantine with its reason and place, without people or secrets.
"""

from collections import Counter
from collections.abc import Sequence
from hashlib import sha256
from typing import Any, Final

import msgspec

from audit.access.model.batch import SourceRecord
from audit.access.parsers.activity_log import (
    BegunOperations,
    activities_of,
    activity_kind,
)
from audit.access.parsers.caller_networks import CallerLocator
from audit.access.parsers.entra_audit import entra_kind, is_entra_audit, parse_entra
from audit.access.parsers.kubernetes_audit import (
    GROUP_OF_EVENTS,
    kubernetes_kind,
    parse_kubernetes,
)
from audit.access.parsers.redaction import scrub, scrub_record
from audit.access.parsers.storage_fields import (
    StorageFields,
    fields_from,
    fields_or_object,
    is_storage,
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

MOST_KINDS: Final = 64
"""Kinds of records of no concern that are counted apart in one batch."""

OTHER_KINDS: Final = "others"

_MOST_KIND: Final = 160

ParsedRecord = Access | Sequence[Activity] | RefusedRecord
"""What a record is; no activity at all where it is of no concern, or of no end."""


class RecordReader:
    """Reads records for one cluster. What operations of Azure's began is remembered for a while."""

    def __init__(self, cluster: str, callers: CallerLocator) -> None:
        self._cluster = cluster
        self._callers = callers
        self._begun = BegunOperations()
        self._skipped: Counter[str] = Counter()

    @property
    def begun(self) -> int:
        """How often an operation began: what `saved` gives is another then."""
        return self._begun.noted

    def take_skipped(self) -> dict[str, int]:
        """Return how many records of each kind gave nothing since this was asked last."""
        skipped, self._skipped = self._skipped, Counter()
        return dict(sorted(skipped.items()))

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
        if is_storage(low, category):
            fields, extra = fields_from(found)
            reading = StorageContext(self._cluster, source, stores, self._callers)
            return access_of(fields, extra, raw, reading)
        if category.lower() in _AUDITS:
            return self._kubernetes(_logged(low), source)
        if is_entra_audit(low):
            changes = parse_entra(low, self._cluster, source, self._callers)
            return changes or self._skip(entra_kind(low))
        if "metricname" in low:
            return self._skip("metrics")
        if "operationname" in low or "operationnamevalue" in low:
            begun, callers = self._begun, self._callers
            done = activities_of(found, self._cluster, source, stores, callers, begun)
            return done or self._skip(activity_kind(low))
        raise UnreadableRecordError("is of no log that is read here", "category")

    def _kubernetes(self, raw: bytes | msgspec.Raw, source: str) -> tuple[Activity, ...]:
        activity = parse_kubernetes(raw, self._cluster, source, self._callers)
        return self._skip(kubernetes_kind(raw)) if activity is None else (activity,)

    def _skip(self, kind: str) -> tuple[Activity, ...]:
        """Count a record that is of no concern, or of no end."""
        kind = scrub(kind)[:_MOST_KIND]
        known = kind in self._skipped or len(self._skipped) < MOST_KINDS
        self._skipped[kind if known else OTHER_KINDS] += 1
        return ()

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
    """Return the event: of `properties.log`, or of the column `log_s` of AzureDiagnostics."""
    properties = low.get("properties")
    logged = properties.get("log") if isinstance(properties, dict) else low.get("log_s")
    if not isinstance(logged, str):
        raise UnreadableRecordError("has no text", "properties.log")
    return logged.encode()
