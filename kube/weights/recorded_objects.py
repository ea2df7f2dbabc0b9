"""Objects that people decide with, as the record of changes keeps them: one watch of each kind."""

import asyncio
import datetime as dt
import hashlib
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any, Final

import msgspec

from core.approvals import approvals, break_glass, exceptions
from core.base import names
from core.base.errors import InvalidObjectError
from core.base.json_errors import decode_json_as
from core.base.sallyport_objects import Metadata, UntypedObject, parse_time, read_object
from core.egress import allowlists
from core.people.two_person import Approvable, Consent, approvable_of, read_people, read_person
from core.weights import access_grants, audit_statements, stores
from kube.client.connection import Connection
from kube.client.settings import LiveSettings
from kube.resources.paths import SERVICE_ACCOUNTS_PATH
from kube.resources.service_accounts import KIND as ACCOUNT
from kube.resources.service_accounts import parse_account, sign_in_of
from kube.watch.listwatch import ListWatch, Resource, skip_broken

PROFILE: Final = approvals.PROFILE

MOST_SPEC: Final = 32 * 1024
"""Bytes; of a larger `spec` only the digest is recorded, and when it ends."""

_RESOURCES: Final[Mapping[str, str]] = {
    access_grants.KIND: names.ACCESS_GRANTS_RESOURCE,
    stores.KIND: names.WEIGHT_STORES_RESOURCE,
    approvals.KIND: names.APPROVALS_RESOURCE,
    approvals.CLUSTER_KIND: names.CLUSTER_APPROVALS_RESOURCE,
    PROFILE: names.PROFILES_RESOURCE,
    exceptions.KIND: names.EXCEPTIONS_RESOURCE,
    allowlists.KIND: names.ALLOWLISTS_RESOURCE,
    allowlists.SET_KIND: names.DESTINATIONS_RESOURCE,
    break_glass.KIND: names.BREAK_GLASSES_RESOURCE,
    audit_statements.KIND: names.AUDIT_STATEMENTS_RESOURCE,
}

KINDS: Final = (*_RESOURCES, ACCOUNT)
"""All that are recorded, in this order: what is approved before what approves it."""

_APPROVALS: Final = frozenset({approvals.KIND, approvals.CLUSTER_KIND})
_APART: Final = {break_glass.KIND: ("activated",)}
"""Fields of `spec` that are not approved, as `core.approvals.break_glass` reads it."""

_Time = Annotated[dt.datetime, msgspec.Meta(tz=True)]


class RecordedObject(msgspec.Struct, frozen=True):
    """What is kept of one. Times are Unix seconds."""

    kind: str
    namespace: str
    name: str
    uid: str
    digest: str
    made: float
    touched: float
    """The latest change that it names, but of its status."""
    by: tuple[str, ...] = ()
    """Marks of its author, or the label of whoever approved."""
    editors: tuple[str, ...] = ()
    """Marks of the others who changed it."""
    spec: Any = None
    expires: float = 0.0
    """0 where it names no end."""
    approvable: Approvable | None = None
    consent: Consent | None = None
    grant: access_grants.AccessGrant | None = None
    """None for other kinds, and for a grant that cannot be read."""

    @property
    def key(self) -> str:
        """What tells it from others of its kind."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class _Manager(msgspec.Struct):
    time: _Time | None = None
    subresource: str = ""


class _Meta(msgspec.Struct, rename="camel"):
    name: str
    creation_timestamp: _Time
    namespace: str = ""
    uid: str = ""
    managed_fields: list[_Manager] | None = None


class _Envelope(msgspec.Struct):
    metadata: _Meta


def read_recorded(kind: str, raw: bytes | msgspec.Raw) -> RecordedObject | None:
    """Read one; None of a service account that signs in as nobody.

    Raises:
        InvalidObjectError: with the field's path and what it must be.
    """
    meta = decode_json_as(_Envelope, raw, kind).metadata
    made = meta.creation_timestamp.timestamp()
    changes = (each.time for each in meta.managed_fields or () if not each.subresource)
    touched = max((each.timestamp() for each in changes if each), default=made)
    found = RecordedObject(kind, meta.namespace, meta.name, meta.uid, "", made, max(made, touched))
    return _account(found, raw) if kind == ACCOUNT else _written(found, raw)


def _account(found: RecordedObject, raw: bytes | msgspec.Raw) -> RecordedObject | None:
    said = sign_in_of(parse_account(raw))
    if not said.client_id:
        return None
    spec = {"clientId": said.client_id.lower(), "tenant": said.tenant.lower()}
    digest = f"sha256:{hashlib.sha256(msgspec.json.encode(spec)).hexdigest()}"
    return msgspec.structs.replace(found, digest=digest, spec=spec)


def _written(found: RecordedObject, raw: bytes | msgspec.Raw) -> RecordedObject:
    kind = found.kind
    written = read_object(raw, kind, apart=_APART.get(kind, ()))
    meta = written.meta
    consent = None
    if kind in _APPROVALS:
        consent = approvals.parse_approval(raw, kind=kind).consent
    size = len(msgspec.json.encode(written.spec))
    return msgspec.structs.replace(
        found,
        digest=written.digest,
        by=(consent.approver.label,) if consent else _marks(meta, names.AUTHOR_ANNOTATION),
        editors=_marks(meta, names.EDITORS_ANNOTATION),
        spec=written.spec if size <= MOST_SPEC else _omitted(written.spec, size),
        expires=_expiry(written.spec),
        approvable=approvable_of(written) if kind in approvals.TIERS else None,
        consent=consent,
        grant=_grant(written) if kind == access_grants.KIND else None,
    )


def _omitted(spec: Any, size: int) -> dict[str, Any]:
    """Return what is recorded of a larger `spec`: its size, and when it ends."""
    ends = spec.get("expiresAt") if isinstance(spec, dict) else None
    return {"omitted": f"{size} bytes"} | ({"expiresAt": ends} if isinstance(ends, str) else {})


def _grant(written: UntypedObject) -> access_grants.AccessGrant | None:
    """Return the grant that was written; None where the gate reads none there either."""
    try:
        return access_grants.grant_of(written)
    except InvalidObjectError:
        return None


def _marks(meta: Metadata, annotation: str) -> tuple[str, ...]:
    text = meta.annotation(annotation)
    if annotation == names.AUTHOR_ANNOTATION:
        return tuple(sorted(read_person(text)))
    return tuple(sorted({mark for person in read_people(text) for mark in person}))


def _expiry(spec: Any) -> float:
    text = spec.get("expiresAt") if isinstance(spec, dict) else None
    try:
        return parse_time(text, field="", what="") if isinstance(text, str) else 0.0
    except InvalidObjectError:
        return 0.0


class RecordedObjects:
    """All of them, kept by watches; run `run` as a task, where this process leads."""

    def __init__(
        self,
        connection: Connection,
        settings: LiveSettings,
        kinds: Iterable[str] = KINDS,
    ) -> None:
        self.kinds = tuple(kinds)
        self._watches = {
            kind: ListWatch(
                connection,
                Resource(f"{kind}s", path_of(kind), skip_broken(_reader(kind)), optional=True),
                lambda _: None,
                settings,
            )
            for kind in self.kinds
        }

    async def run(self) -> None:
        """Keep them until cancelled."""
        await asyncio.gather(*(watch.run() for watch in self._watches.values()))

    def of(self, kind: str) -> Mapping[str, RecordedObject] | None:
        """Return the objects of a kind by their key; None where nobody serves the kind.

        Raises:
            NotSyncedError: they have not been loaded, or the watch has been down too long.
        """
        watch = self._watches[kind]
        if watch.unserved:
            return None
        watch.require()
        return watch.objects


def path_of(kind: str) -> str:
    """Return the path of all objects of a kind."""
    if kind == ACCOUNT:
        return SERVICE_ACCOUNTS_PATH
    return f"/apis/{names.API_VERSION}/{_RESOURCES[kind]}"


def _reader(kind: str) -> Callable[[msgspec.Raw], RecordedObject | None]:
    return lambda raw: read_recorded(kind, raw)
