"""Records that Entra ID's diagnostic settings send to an event hub: what each says of whom. Pure.

Of a record its ids, levels, states, times and event types are read; names, mail and addresses that
stand beside them never reach a type of ours.

Sources: Azure Monitor's tables AADRiskyUsers, AADUserRiskEvents, AADRiskyServicePrincipals and
AADServicePrincipalRiskEvents for the properties; the records' wrapping and spellings as the samples
of `elastic/integrations` (packages/azure, identity_protection) show them.
"""

import enum
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import msgspec

from core.risk.model import PrincipalKind, RiskEntry, RiskSource, identity_key
from core.risk.snapshot import SnapshotDraft
from identity.entra.values import (
    event_type_of,
    kept_event_id,
    level_of,
    object_id_of,
    seconds_of,
    state_of,
)
from identity.risk.entry_merge import Detection, MergeResult, merge_detection, merge_entry

MOST_BYTES: Final = 4 * 1024 * 1024
"""Of one message. Event Hubs takes 1 MB, and 20 MB only in dedicated clusters."""

MOST_RECORDS: Final = 10_000
"""Of one message; a record has some 700 bytes."""


class RecordRefusal(enum.Enum):
    """Why a record changes nothing."""

    MALFORMED = "malformed"
    """No JSON, no record, or something that it must say is missing."""
    SUBJECT = "subject"
    """Its id is no object id of Entra's."""
    TENANT = "tenant"
    """It is of another tenant, or does not say of which."""
    TIME = "time"
    """Its time cannot be read."""
    SKIPPED = "skipped"
    """It is of another category, as a hub that other logs share has them: not wrong, not ours."""


@dataclass(frozen=True, slots=True)
class RiskRecord:
    """A record of an identity's own level and state."""

    key: bytes
    entry: RiskEntry

    def merge_into(self, draft: SnapshotDraft, now: float) -> MergeResult:
        """Take it in; see `identity.risk.entry_merge`."""
        return merge_entry(draft, RiskSource.ENTRA, self.key, self.entry, now)


@dataclass(frozen=True, slots=True)
class DetectionRecord:
    """A record of what an identity's risk rests on."""

    key: bytes
    detection: Detection

    def merge_into(self, draft: SnapshotDraft, now: float) -> MergeResult:
        """Take it in; see `identity.risk.entry_merge`."""
        return merge_detection(draft, RiskSource.ENTRA, self.key, self.detection, now)


class _Envelope(msgspec.Struct, frozen=True, rename="camel"):
    category: str
    tenant_id: str = ""
    resource_id: str = ""
    properties: msgspec.Raw = msgspec.Raw(b"")


class _Batch(msgspec.Struct, frozen=True):
    records: list[msgspec.Raw]


class _Identity(msgspec.Struct, frozen=True, rename="camel"):
    """Of RiskyUsers and RiskyServicePrincipals."""

    id: str
    risk_level: str
    risk_state: str
    risk_last_updated: str = msgspec.field(name="riskLastUpdatedDateTime")
    is_deleted: bool | None = None


class _Event(msgspec.Struct, frozen=True, rename="camel"):
    """Of UserRiskEvents and ServicePrincipalRiskEvents."""

    id: str
    risk_state: str
    activity: str = msgspec.field(name="activityDateTime")
    user_id: str = ""
    service_principal_id: str = ""
    risk_event_type: str | None = None
    risk_type: str | None = None


_TENANT: Final = re.compile(r"/tenants/([0-9A-Fa-f-]{36})(?:/|$)", re.ASCII)


def read_message(
    body: bytes | None, tenant: str
) -> Iterator[RiskRecord | DetectionRecord | RecordRefusal]:
    """Yield what each record of a message says, in their order; one that is refused stops nothing.

    Args:
        body: the message's value: `{"records": […]}`, a list of such, or one record.
        tenant: the tenant's id, in lower case; a record of another one is refused.
    """
    try:
        records = _records(body or b"")
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        yield RecordRefusal.MALFORMED
        return
    for record in records:
        try:
            yield _read(record, tenant)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            yield RecordRefusal.MALFORMED


def _records(body: bytes) -> list[msgspec.Raw]:
    if len(body) > MOST_BYTES:
        raise msgspec.DecodeError("too large")
    if body.lstrip()[:1] == b"[":
        batches = msgspec.json.decode(body, type=list[_Batch])
        records = [record for batch in batches for record in batch.records]
    else:
        shape = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
        wrapped = "records" in shape
        records = msgspec.json.decode(body, type=_Batch).records if wrapped else [msgspec.Raw(body)]
    if len(records) > MOST_RECORDS:
        raise msgspec.ValidationError("too many records")
    return records


def _read(record: msgspec.Raw, tenant: str) -> RiskRecord | DetectionRecord | RecordRefusal:
    envelope = msgspec.json.decode(record, type=_Envelope)
    category = _CATEGORIES.get(envelope.category.lower())
    if category is None:
        return RecordRefusal.SKIPPED
    if _tenant_of(envelope) != tenant:
        return RecordRefusal.TENANT
    read, kind = category
    return read(envelope.properties, kind)


def _tenant_of(envelope: _Envelope) -> str:
    """Return the tenant by its field, else by the resource's path: not every record has both."""
    if envelope.tenant_id:
        return envelope.tenant_id.lower()
    found = _TENANT.match(envelope.resource_id)
    return found[1].lower() if found else ""


def _read_identity(properties: msgspec.Raw, kind: PrincipalKind) -> RiskRecord | RecordRefusal:
    found = msgspec.json.decode(properties, type=_Identity)
    object_id = object_id_of(found.id)
    if not object_id:
        return RecordRefusal.SUBJECT
    updated = seconds_of(found.risk_last_updated)
    if updated is None:
        return RecordRefusal.TIME
    entry = RiskEntry(
        kind=kind,
        level=level_of(found.risk_level),
        state=state_of(found.risk_state),
        deleted=bool(found.is_deleted),
        updated=updated,
    )
    return RiskRecord(identity_key(object_id), entry)


def _read_event(properties: msgspec.Raw, kind: PrincipalKind) -> DetectionRecord | RecordRefusal:
    found = msgspec.json.decode(properties, type=_Event)
    of_user = kind is PrincipalKind.USER
    object_id = object_id_of(found.user_id if of_user else found.service_principal_id)
    if not object_id:
        return RecordRefusal.SUBJECT
    if not found.id:
        return RecordRefusal.MALFORMED
    active = seconds_of(found.activity)
    if active is None:
        return RecordRefusal.TIME
    detection = Detection(
        event_id=kept_event_id(found.id),
        event_type=event_type_of(found.risk_event_type or found.risk_type or ""),
        active=active,
        state=state_of(found.risk_state),
        kind=kind,
    )
    return DetectionRecord(identity_key(object_id), detection)


_Reading = Callable[[msgspec.Raw, PrincipalKind], RiskRecord | DetectionRecord | RecordRefusal]

_CATEGORIES: Final[Mapping[str, tuple[_Reading, PrincipalKind]]] = {
    "riskyusers": (_read_identity, PrincipalKind.USER),
    "userriskevents": (_read_event, PrincipalKind.USER),
    "riskyserviceprincipals": (_read_identity, PrincipalKind.SERVICE_PRINCIPAL),
    "serviceprincipalriskevents": (_read_event, PrincipalKind.SERVICE_PRINCIPAL),
}
"""By the category in lower case: Azure's logs are not of one mind about capitals."""
