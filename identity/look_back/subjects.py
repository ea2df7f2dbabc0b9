"""Whom to look back on, how far, and which of their acts count. Pure.

Microsoft's detections come up to 48 hours after what they detect (docs/adr/0033), so what somebody
did before their risk was known may have been somebody else with their session.
"""

import re
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from core.approvals import approvals, break_glass, exceptions
from core.base import names
from core.base.times import DAY_S
from core.egress import allowlists
from core.kubernetes.workload_kinds import GroupKind
from core.people.subject import Subject
from core.risk.look_back import RecordedAct, Sort
from core.risk.model import (
    LATEST_DETECTION_S,
    PrincipalKind,
    RiskEntry,
    RiskLevel,
    RiskSource,
    RiskState,
    Standing,
    identity_key,
)
from core.risk.snapshot import RiskSnapshot
from core.weights import access_grants, stores
from identity.risk.principals import GUID
from identity.risk.standings import entry_at_risk

MARGIN_S: Final = 3600
"""Looked back further still, for clocks and for what led up to it."""

ORDER: Final = (
    Standing.HIDDEN,
    Standing.LOW,
    Standing.MEDIUM,
    Standing.HIGH,
    Standing.COMPROMISED,
)
"""The standings of whoever is at risk, the worst last. HIDDEN: at risk, and no licence to see how
much."""

_LEVELS: Final = {
    RiskLevel.LOW: Standing.LOW,
    RiskLevel.MEDIUM: Standing.MEDIUM,
    RiskLevel.HIGH: Standing.HIGH,
}

_ENTERED: Final[Mapping[str, str]] = {
    "PodExecOptions": "Pod",
    "PodAttachOptions": "Pod",
    "PodPortForwardOptions": "Pod",
    "PodProxyOptions": "Pod",
    "ServiceProxyOptions": "Service",
    "NodeProxyOptions": "Node",
}
"""What a CONNECT with these options enters."""

_SORTS: Final[Mapping[GroupKind, Sort]] = {
    ("authentication.k8s.io", "TokenRequest"): Sort.CREDENTIAL,
    ("", "Secret"): Sort.CREDENTIAL,
    ("certificates.k8s.io", "CertificateSigningRequest"): Sort.CREDENTIAL,
    ("certificates.k8s.io", "PodCertificateRequest"): Sort.CREDENTIAL,
    ("rbac.authorization.k8s.io", "Role"): Sort.RIGHTS,
    ("rbac.authorization.k8s.io", "RoleBinding"): Sort.RIGHTS,
    ("rbac.authorization.k8s.io", "ClusterRole"): Sort.RIGHTS,
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): Sort.RIGHTS,
    ("", "Namespace"): Sort.RIGHTS,
    (names.GROUP, "ContainerProfile"): Sort.RIGHTS,
    (names.GROUP, approvals.KIND): Sort.APPROVAL,
    (names.GROUP, approvals.CLUSTER_KIND): Sort.APPROVAL,
    (names.GROUP, exceptions.KIND): Sort.OPENING,
    (names.GROUP, allowlists.KIND): Sort.OPENING,
    (names.GROUP, allowlists.SET_KIND): Sort.OPENING,
    (names.GROUP, break_glass.KIND): Sort.OPENING,
    (names.GROUP, access_grants.KIND): Sort.OPENING,
    (names.GROUP, stores.KIND): Sort.RIGHTS,
    ("networking.k8s.io", "NetworkPolicy"): Sort.OPENING,
}
"""Kinds that are no workloads; whatever else is judged gives something to a Pod."""

_SERVICE_ACCOUNT: Final[GroupKind] = ("", "ServiceAccount")
_NOT_ITS_OBJECT: Final = frozenset({"status", "scale", "binding"})
"""Subresources by which nothing is started or changed of what an object runs."""

_DIGEST: Final = re.compile(r"user:[0-9a-f]{16}", re.ASCII)
_CLIENT: Final = "client:"


@dataclass(frozen=True)
class IdentityAtRisk:
    """An identity at risk, and the window that is looked back on. Times are Unix seconds."""

    key: bytes
    """`core.risk.model.identity_key`."""
    labels: tuple[str, ...]
    """What decisions and notes may call it; the first names it."""
    standing: Standing | None
    """The worst that any family says; None where somebody asked without a risk."""
    since: int
    """When it came to be at risk, by whichever family said so first; 0 where it is not."""
    begin: int
    kind: PrincipalKind = PrincipalKind.USER
    events: tuple[str, ...] = ()
    event_types: tuple[str, ...] = ()
    client_ids: frozenset[str] = frozenset()
    """Of a service principal, lower case."""

    @property
    def level(self) -> int:
        """Return a number that is greater for a worse standing."""
        return ORDER.index(self.standing) if self.standing else 0


def standing_of_entry(entry: RiskEntry) -> Standing | None:
    """Return how much at risk one family says that an identity is; None where it does not."""
    if not entry_at_risk(entry):
        return None
    if entry.state is RiskState.CONFIRMED_COMPROMISED:
        return Standing.COMPROMISED
    return _LEVELS.get(entry.level, Standing.HIDDEN)


def window_begin(active: int, since: int, now: float, days: int) -> int:
    """Return where the window begins: before what made it risky, or 48 hours before it was known.

    `active` and `since` are Unix seconds, 0 where not known; the window is at most `days` long.
    """
    known = since or int(now)
    first = min(known - LATEST_DETECTION_S, active or known)
    return max(first - MARGIN_S, int(now) - days * DAY_S)


def labels_of(key: bytes) -> tuple[str, ...]:
    """Return what decisions call an object id: by `extra.oid`, or, without it, as a user name."""
    text = str(uuid.UUID(bytes=key))
    return (f"oid:{text}", Subject(username=text).label)


def keys_at_risk(snapshot: RiskSnapshot) -> Iterator[bytes | None]:
    """Yield the keys of all that a family says are at risk; None for each entry that is not.

    The Nones let a caller breathe: there may be 100,000 entries.
    """
    for family in RiskSource:
        for key, entry in snapshot.entries(family):
            yield key if standing_of_entry(entry) else None


def identity_at_risk(
    snapshot: RiskSnapshot,
    key: bytes,
    now: float,
    days: int,
    clients: Mapping[str, frozenset[str]],
) -> IdentityAtRisk | None:
    """Return an identity as its entries say together; None where none says that it is at risk.

    `clients` are the client ids of service principals, by object id (`clients_of`).
    """
    found = [entry for family in RiskSource if (entry := snapshot.entry(family, key)) is not None]
    risky = [(standing, each) for each in found if (standing := standing_of_entry(each))]
    if not risky:
        return None
    sinces = [each.since or each.updated for _, each in risky]
    actives = [each.active for _, each in risky if each.active]
    object_id = str(uuid.UUID(bytes=key))
    return IdentityAtRisk(
        key=key,
        labels=labels_of(key),
        standing=max((standing for standing, _ in risky), key=ORDER.index),
        since=min(sinces),
        begin=window_begin(min(actives, default=0), min(sinces), now, days),
        kind=risky[0][1].kind,
        events=tuple(dict.fromkeys(each.event_id for _, each in risky if each.event_id)),
        event_types=tuple(dict.fromkeys(each.event_type for _, each in risky if each.event_type)),
        client_ids=clients.get(object_id, frozenset()),
    )


def clients_of(snapshot: RiskSnapshot) -> Mapping[str, frozenset[str]]:
    """Return the client ids of each service principal of the snapshot, by its object id."""
    found: dict[str, set[str]] = {}
    for client_id, application in snapshot.applications():
        if application.object_id:
            found.setdefault(application.object_id, set()).add(client_id)
    return {object_id: frozenset(ids) for object_id, ids in found.items()}


def target_of(act: RecordedAct) -> tuple[Sort, GroupKind] | None:
    """Return what an act is, and the kind of object that it left behind.

    None where it left none.
    """
    if act.operation == "CONNECT":
        entered = _ENTERED.get(act.kind)
        return (Sort.ENTERED, ("", entered)) if entered else None
    if (act.group, act.kind) == ("", "Pod") and act.subresource == "ephemeralcontainers":
        return Sort.ENTERED, ("", "Pod")
    if (act.group, act.kind) == ("", "Binding"):
        return Sort.WORKLOAD, ("", "Pod")
    if act.operation == "DELETE" or act.subresource in _NOT_ITS_OBJECT:
        return None
    sort = sort_of(act.group, act.kind)
    if (act.group, act.kind) == ("authentication.k8s.io", "TokenRequest"):
        return sort, _SERVICE_ACCOUNT
    return sort, (act.group, act.kind)


def sort_of(group: str, kind: str) -> Sort:
    """Return what an object of a kind is to whoever looks back."""
    return _SORTS.get((group, kind), Sort.WORKLOAD)


def describe_act(sort: Sort, operation: str) -> str:
    """Say what was done, in a word."""
    if sort is Sort.ENTERED:
        return "entered"
    if sort is Sort.APPROVAL and operation == "CREATE":
        return "approved"
    return "started" if operation == "CREATE" else "changed"


def due_identities(
    risen: Iterable[IdentityAtRisk], known: Mapping[bytes, tuple[int, int, int]]
) -> list[IdentityAtRisk]:
    """Return those that are not looked back on yet, the worst first.

    `known` says of whom that was done: `since`, level and beginning of the window as they were. A
    later `since` is another risk; a higher level, or something that happened before the window
    began, is reason to look again. A lower level is none.
    """
    found = [each for each in risen if _is_due(each, known.get(each.key))]
    return sorted(found, key=lambda each: (-each.level, -each.since, each.key))


def _is_due(risen: IdentityAtRisk, known: tuple[int, int, int] | None) -> bool:
    if known is None:
        return True
    since, level, begin = known
    return risen.since > since or risen.level > level or risen.begin < begin - MARGIN_S


def parse_subject(subject: str) -> Callable[[RiskSnapshot | None], IdentityAtRisk] | None:
    """Return what makes an identity of `oid:…`, a GUID, `user:…` or `client:…`; None of others.

    The window of what it makes is not set. A client id needs the snapshot, which says whose it is.
    """
    text = subject.strip().lower()
    if _DIGEST.fullmatch(text):
        return lambda _: _plain(text)
    if text.startswith(_CLIENT) and GUID.fullmatch(text.removeprefix(_CLIENT)):
        client_id = text.removeprefix(_CLIENT)
        return lambda snapshot: _client(client_id, snapshot)
    object_id = text.removeprefix("oid:")
    if GUID.fullmatch(object_id):
        return lambda _: IdentityAtRisk(
            identity_key(object_id), labels_of(identity_key(object_id)), None, 0, 0
        )
    return None


def _plain(label: str) -> IdentityAtRisk:
    return IdentityAtRisk(identity_key(label), (label,), None, 0, 0)


def _client(client_id: str, snapshot: RiskSnapshot | None) -> IdentityAtRisk:
    """Return the service principal of a client id; where nobody knows it, the client id alone."""
    known = snapshot.application(client_id) if snapshot is not None else None
    object_id = known.object_id if known else ""
    key = identity_key(object_id or client_id)
    labels = (f"{_CLIENT}{client_id}", *(labels_of(key) if object_id else ()))
    kind = PrincipalKind.SERVICE_PRINCIPAL
    return IdentityAtRisk(key, labels, None, 0, 0, kind, client_ids=frozenset({client_id}))
