"""Looks back on identities: what is recorded of each, what each read, what each left behind.

The loop (`control.risk.look_back.loop`) and `sallyport risk look-back` both use it. What lies in
the cluster is read once for all of them.
"""

from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from typing import Final

import msgspec

from audit.access.server.reads_protocol import ReadsSource
from audit.ledger.server.acts_protocol import ActsSource
from control.risk.look_back.weight_reads import weight_reads
from core.approvals import approvals, break_glass, exceptions
from core.base import names
from core.base.errors import ClusterError, InvalidObjectError
from core.egress import allowlists
from core.kubernetes.pod import decode_pod
from core.kubernetes.workload_kinds import WORKLOADS, GroupKind
from core.risk.look_back import LiveObject, LookBackDocument
from core.weights import access_grants
from identity.look_back.report import document_of
from identity.look_back.subjects import IdentityAtRisk
from identity.look_back.trails import ObjectBudget, Trail, Trails
from identity.risk.workload_identity import client_ids_of
from kube.client.objects import Objects
from kube.resources.metadata_lists import Listing, ListPace, find_listing, raw_pages, read_live

MOST_ACTS: Final = 200_000
"""Acts read of one identity; of more the latest are missing, and the document says so."""

MOST_PAGES: Final = 5_000
"""Pages of decisions read of one identity, a million of them. What was refused or a dry run is no
act, and a page may hold none: so that nobody can keep others from being looked back on."""

AHEAD_S: Final = 3600
"""So far ahead may the clock be of a gate that recorded something."""

NO_RECORDS: Final = (
    "there is no auditor (shipping.url): who entered what, which credentials and rights were made, "
    "and what is gone is not known; only live objects that say whose they are are listed"
)
NAMES_KEPT: Final = (
    "decisions are recorded under names (record.people): what was recorded of this identity is not "
    "found by its object id"
)

_CLIENT_ID: Final = "azure.workload.identity/client-id"
_TENANT: Final = "azure.workload.identity/tenant-id"

_GRANT: Final = Listing(
    names.GROUP, access_grants.KIND, names.ACCESS_GRANTS_RESOURCE, ("v1alpha1",)
)
_POD: Final = Listing("", "Pod", "pods", ("v1",))
_ACCOUNT: Final = Listing("", "ServiceAccount", "serviceaccounts", ("v1",))
_RBAC: Final = "rbac.authorization.k8s.io"

_WRITTEN: Final = tuple(
    Listing(names.GROUP, kind, resource, ("v1alpha1",))
    for kind, resource in (
        (exceptions.KIND, names.EXCEPTIONS_RESOURCE),
        (allowlists.KIND, names.ALLOWLISTS_RESOURCE),
        (allowlists.SET_KIND, names.DESTINATIONS_RESOURCE),
        (break_glass.KIND, names.BREAK_GLASSES_RESOURCE),
        (approvals.KIND, names.APPROVALS_RESOURCE),
        (approvals.CLUSTER_KIND, names.CLUSTER_APPROVALS_RESOURCE),
    )
)
"""Kinds whose objects say who wrote them."""

_WORKLOADS: Final = tuple(
    (Listing(each.group, each.kind, each.resource, each.versions), bool(each.controllers))
    for each in WORKLOADS.values()
)
_NOTED: Final = tuple(listing for listing, owns in _WORKLOADS if owns)
"""Kinds whose objects say who submitted them, or lie between such a one and its Pods."""

_KNOWN: Final[Mapping[GroupKind, Listing]] = {
    (each.group, each.kind): each
    for each in (
        Listing(names.GROUP, "ContainerProfile", names.PROFILES_RESOURCE, ("v1alpha1",)),
        Listing(_RBAC, "Role", "roles", ("v1",)),
        Listing(_RBAC, "RoleBinding", "rolebindings", ("v1",)),
        Listing(_RBAC, "ClusterRole", "clusterroles", ("v1",)),
        Listing(_RBAC, "ClusterRoleBinding", "clusterrolebindings", ("v1",)),
        Listing("", "Namespace", "namespaces", ("v1",)),
        Listing("", "Service", "services", ("v1",)),
        Listing("", "Node", "nodes", ("v1",)),
        *(listing for listing, owns in _WORKLOADS if not owns),
    )
}
"""Others, which are listed where somebody acted on one."""

ALWAYS: Final = (*_NOTED, *_WRITTEN, _GRANT, _ACCOUNT, _POD)
"""All that is listed whatever somebody did; the service accounts only for service principals."""


class _AccountMetaShape(msgspec.Struct, frozen=True):
    """`metadata` of a ServiceAccount."""

    name: str = ""
    namespace: str = ""
    annotations: dict[str, str] | None = None


class _AccountShape(msgspec.Struct):
    """A ServiceAccount."""

    metadata: _AccountMetaShape = _AccountMetaShape()


class _PodSpecShape(msgspec.Struct, frozen=True, rename="camel"):
    """`spec` of a Pod."""

    service_account_name: str = ""


class _PodShape(msgspec.Struct):
    """A Pod."""

    spec: _PodSpecShape = _PodSpecShape()


class _GrantSpec(msgspec.Struct, frozen=True, rename="camel"):
    """Whom it names."""

    people: list[str] | None = None
    service_accounts: list[str] | None = None


class _GrantShape(msgspec.Struct):
    """An AccessGrant."""

    spec: _GrantSpec = _GrantSpec()


_GRANT_DECODER: Final = msgspec.json.Decoder(_GrantShape)
_ACCOUNT_DECODER: Final = msgspec.json.Decoder(_AccountShape)
_POD_DECODER: Final = msgspec.json.Decoder(_PodShape)


@dataclass(frozen=True)
class Sources:
    """What is read."""

    objects: Objects
    acts: ActsSource | None
    """None where nothing is recorded, or cannot be read: then `gaps` must say why."""
    cluster: str
    gaps: tuple[str, ...] = ()
    """What is known beforehand not to be seen: NO_RECORDS and the like."""
    reads: ReadsSource | None = None
    """None with `acts`."""
    suspends: bool = False
    """Whether exceptions of whoever is at risk are not in force."""
    per_second: float = 5000.0
    """Objects listed, at most."""
    on_progress: Callable[[str], None] | None = None
    """Told now and then what is being read."""


@dataclass
class _LookBackPass:
    """One pass that is under way."""

    sources: Sources
    trails: Trails
    pace: ListPace
    unlisted: set[GroupKind] = field(default_factory=set)
    gaps: list[str] = field(default_factory=list)
    accounts: dict[tuple[str, str], tuple[str, str]] = field(default_factory=dict)
    """Client id and tenant of the service accounts that are looked for, by namespace and name."""

    async def read(self, listings: Collection[Listing]) -> None:
        for listing in listings:
            await self._listed(listing, self._see)
        if self.trails.client_ids:
            await self._listed(_ACCOUNT, self._see_account)
        await self._listed(_GRANT, self._see_grant, metadata_only=False)
        if self.trails.client_ids:
            await self._listed(_POD, self._see_pod, metadata_only=False)
        else:
            await self._listed(_POD, self._see)

    async def _listed(
        self,
        listing: Listing,
        see: Callable[[msgspec.Raw, Listing], None],
        *,
        metadata_only: bool = True,
    ) -> None:
        try:
            pages = raw_pages(self.sources.objects, listing, self.pace, metadata_only=metadata_only)
            async for page in pages:
                for raw in page:
                    see(raw, listing)
        except ClusterError as error:
            if error.status != HTTPStatus.FORBIDDEN:
                raise
            self.unlisted.add((listing.group, listing.kind))
            where = f"{listing.resource}.{listing.group}" if listing.group else listing.resource
            self.gaps.append(f"{where} could not be listed: the right to list it is missing")

    def _see(self, raw: msgspec.Raw, listing: Listing) -> None:
        self.trails.see(read_live(raw, listing.group, listing.kind))

    def _see_account(self, raw: msgspec.Raw, listing: Listing) -> None:
        account = _ACCOUNT_DECODER.decode(raw).metadata
        annotations = account.annotations or {}
        client_id = annotations.get(_CLIENT_ID, "").lower()
        if client_id in self.trails.client_ids:
            tenant = annotations.get(_TENANT, "")
            self.accounts[account.namespace, account.name] = (client_id, tenant)
            self._see_signing_in(read_live(raw, listing.group, listing.kind), {client_id})

    def _see_grant(self, raw: msgspec.Raw, listing: Listing) -> None:
        live = read_live(raw, listing.group, listing.kind)
        named = _GRANT_DECODER.decode(raw).spec
        accounts = ((live.namespace, each) for each in named.service_accounts or ())
        clients = {self.accounts[each][0] for each in accounts if each in self.accounts}
        people = {each.lower() for each in named.people or ()}
        granted = people | {f"client:{each}" for each in clients}
        self.trails.see(msgspec.structs.replace(live, granted=frozenset(granted)))

    def _see_pod(self, raw: msgspec.Raw, listing: Listing) -> None:
        live = read_live(raw, listing.group, listing.kind)
        self._see_signing_in(live, self._client_ids(raw, live))

    def _see_signing_in(self, live: LiveObject, client_ids: Collection[str]) -> None:
        wanted = self.trails.client_ids.intersection(client_ids)
        self.trails.see(msgspec.structs.replace(live, client_ids=wanted))

    def _client_ids(self, raw: msgspec.Raw, live: LiveObject) -> set[str]:
        text = bytes(raw).lower()
        account = _POD_DECODER.decode(raw).spec.service_account_name or "default"
        annotated, tenant = self.accounts.get((live.namespace, account), ("", ""))
        if not annotated and not any(each.encode() in text for each in self.trails.client_ids):
            return set()
        try:
            found = client_ids_of(decode_pod(raw), annotated, tenant)
        except InvalidObjectError:
            return set()
        return {each.client_id for each in found}


async def look_back(
    sources: Sources,
    risen: Sequence[IdentityAtRisk],
    id_of: Callable[[IdentityAtRisk], str],
    now: float,
) -> list[LookBackDocument]:
    """Return what each of these identities left behind, in their order; `id_of` names documents.

    Memory is bounded for each identity (`identity.look_back.trails`); the cluster is listed once
    for all.

    Raises:
        ClusterError: kube-apiserver does not answer.
        LedgerError: the records cannot be read now.
    """
    gaps = list(sources.gaps)
    versions: dict[GroupKind, str] = {}
    cut: dict[bytes, str] = {}
    trails, room = [], ObjectBudget()
    for number, each in enumerate(risen, 1):
        trail = Trail(each, room)
        trails.append(trail)
        if sources.acts is not None:
            _tell(sources, f"reading what is recorded: identity {number} of {len(risen)}")
            if not await _read_acts(sources.acts, trail, versions, now):
                cut[each.key] = "there are too many decisions: the latest are not in here"
    until_ms = int((now + AHEAD_S) * 1000)
    reads, some = await weight_reads(sources.reads, risen, until_ms, partial(_tell, sources))
    gaps += some
    joined = Trails(trails, recorded=sources.acts is not None, suspends=sources.suspends)
    joined.index()
    reading = _LookBackPass(sources, joined, _pace(sources), gaps=gaps)
    await reading.read([each async for each in _listings(sources.objects, joined, versions)])
    return [
        document_of(
            trail,
            document_id=id_of(trail.risen),
            cluster=sources.cluster,
            end=int(now),
            unlisted=reading.unlisted,
            reads=reads.get(trail.risen.key, ()),
            gaps=[*gaps, *([cut[trail.risen.key]] if trail.risen.key in cut else [])],
        )
        for trail in trails
    ]


async def _read_acts(
    acts: ActsSource, trail: Trail, versions: dict[GroupKind, str], now: float
) -> bool:
    """Read all acts of an identity; False where there are too many."""
    since_ms, until_ms = trail.risen.begin * 1000, int((now + AHEAD_S) * 1000)
    read = pages = 0
    for label in trail.risen.labels:
        if label.startswith("client:"):  # Nobody asks kube-apiserver under a client id.
            continue
        after = ""
        while True:
            page = await acts.page(label, since_ms, until_ms, after)
            for act in page.acts:
                versions.setdefault((act.group, act.kind), act.version)
                trail.add_act(act)
            read, pages, after = read + len(page.acts), pages + 1, page.next
            if not after:
                break
            if read >= MOST_ACTS or pages >= MOST_PAGES:
                return False
    return True


async def _listings(
    objects: Objects, trails: Trails, versions: Mapping[GroupKind, str]
) -> AsyncIterator[Listing]:
    """Yield what is listed before the Pods."""
    for listing in (*_NOTED, *_WRITTEN):
        yield listing
    fixed = {(each.group, each.kind) for each in ALWAYS}
    for kind in sorted(trails.kinds() - fixed):
        known = _KNOWN.get(kind)
        if known is None and versions.get(kind):
            known = await find_listing(objects, kind[0], versions[kind], kind[1])
        if known is not None:
            yield known


def _pace(sources: Sources) -> ListPace:
    def told(read: int) -> None:
        _tell(sources, f"reading what is there: {read:,} objects")

    return ListPace(sources.per_second, on_page=told)


def _tell(sources: Sources, what: str) -> None:
    if sources.on_progress is not None:
        sources.on_progress(what)
