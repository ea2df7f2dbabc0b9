"""Gathers whose risk counts for a request, and what the risk table says of each (docs/adr/0033).

It reads memory: the snapshot (100,000 identities, under 40 MiB), service accounts, the Pod that was
read already. Where the installation uses no risk it costs one look. What the Pods of a gang share
is worked out once a second. The class of an operation counts what a request adds: deleting is never
judged, nor an update that leaves unchanged what was judged for somebody before.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

import msgspec
import structlog

from admission.model.facts import Facts, RiskFacts
from admission.model.judged_object import Reading
from admission.model.second_cache import CacheKey, SecondCache
from admission.objects.sign_ins import ShownSignIn, SignIns
from admission.risk.operations import operation_of_object, operation_of_own_kind
from core.base.errors import InvalidObjectError
from core.cluster import Cluster
from core.decision.decision import record_risk
from core.decision.document import DecisionDocument
from core.decision.namespaces import Namespace
from core.decision.request import Request
from core.people.subject import Subject
from core.risk.model import AssessedIdentity, Behaviour, Effect, OperationClass, Role
from core.risk.snapshot import RiskSnapshot
from identity.risk.decision import NO_NAMESPACE_RISK, NamespaceRisk, decide
from identity.risk.principals import Principal, principal_of, principal_of_client, principal_of_note
from identity.risk.standings import Freshness
from identity.risk.table import SHIPPED, RiskTable, parse_table
from policies.projection.model import Standings

_TABLE: Final = "the risk table of the snapshot"
_CLIENT: Final = "client:"
_MEANWHILE: Final = tuple(
    each for each in OperationClass if each is not OperationClass.READ_WEIGHTS
)
"""What a person who is refused may want to do instead; weights are no consolation."""

_log = structlog.get_logger(__name__)
_with = msgspec.structs.replace


@dataclass
class _SnapshotCache(SecondCache[tuple[RiskFacts, Namespace | None]]):
    """One snapshot, its table, and what was worked out of both in the last second.

    Facts are kept with the namespace, which keys tell by its identity, so that nothing else gets
    that.
    """

    snapshot: RiskSnapshot | None = None
    table: RiskTable = SHIPPED

    def turn_to_snapshot(self, snapshot: RiskSnapshot, now: float) -> None:
        """Forget what is of another snapshot, or too old."""
        if snapshot is not self.snapshot:
            self.table = _table_of(snapshot, self.table)
            self.snapshot, self.until = snapshot, 0.0
        self.turn_to(now)


@dataclass(frozen=True)
class RiskGatherer:
    """Gathers the risk of the identities of a request."""

    cluster: Cluster
    freshness: Freshness
    clock: Callable[[], float]
    _lately: _SnapshotCache = field(default_factory=_SnapshotCache)

    def of_reading(self, request: Request, reading: Reading, facts: Facts) -> Facts:
        """Add the risk of who asks, who asked first, and of what the Pods can sign in as.

        Raises:
            NotSyncedError: a Pod signs in as its service account says, and accounts are not known.
        """
        snapshot = self.cluster.risk()
        if snapshot is None or request.asked_profile is not None:
            return facts
        lately, now = self._lately, self.clock()
        lately.turn_to_snapshot(snapshot, now)
        operation = operation_of_object(request)
        reads = facts.weights is not None and bool(facts.weights.stores)
        shown = self._signing_in.of(request, reading)
        root, namespace = facts.root, facts.namespace
        author = root.requester if root else None
        key = (_asker(request), author, id(operation), id(namespace), shown, reads)
        known = lately.found.get(key)
        if known is not None:
            return _with(facts, risk=known[0])
        people = _people(None if _unsaid(request) else request.subject, author)
        found = self._assess(snapshot, people, shown, operation, risk_place(namespace))
        if reads:  # Judged in both columns: the stricter one counts.
            reading_them = OperationClass.READ_WEIGHTS
            other = self._assess(snapshot, people, shown, reading_them, risk_place(namespace))
            found = max(found, other, key=lambda each: each.effect.severity)
        lately.keep(key, (found, namespace))
        return _with(facts, risk=found)

    async def of_guarded(self, request: Request, facts: Facts) -> Facts:
        """Add the risk of who writes an object of Sallyport's own, or the marks of a namespace.

        Raises:
            NotSyncedError: its namespace is not known.
        """
        snapshot = self.cluster.risk()
        operation = _of_namespace_labels(facts) or operation_of_own_kind(request)
        if snapshot is None or operation is None:
            return facts
        self._lately.turn_to_snapshot(snapshot, self.clock())
        # Of a namespace that is being made, or that is itself changed: as it was.
        name = request.name if facts.namespace_labels else request.namespace
        known = bool(name) and not (facts.namespace_labels and request.old_object is None)
        place = risk_place(await self.cluster.namespace(name)) if known else NO_NAMESPACE_RISK
        people = _people(request.subject, None)
        risk = self._assess(snapshot, people, (), operation, place)
        return _with(facts, risk=risk, left_alone="" if risk.has_findings else facts.left_alone)

    def regather(self, request: Request, document: DecisionDocument, facts: Facts) -> Facts:
        """Add the risk of now of who asks; of the others that counted when it was decided."""
        snapshot = self.cluster.risk()
        if snapshot is None:
            return facts
        self._lately.turn_to_snapshot(snapshot, self.clock())
        clients = dict.fromkeys(
            each.who.removeprefix(_CLIENT)
            for each in document.risk
            if each.role == Role.WORKLOAD.value
        )
        shown = tuple(ShownSignIn(client, "", "") for client in clients)
        author = document.root.requester if document.root else None
        people = _people(request.subject, author)
        operation, place = operation_of_object(request), risk_place(facts.namespace)
        return _with(facts, risk=self._assess(snapshot, people, shown, operation, place))

    @cached_property
    def _signing_in(self) -> SignIns:
        return SignIns(self.cluster)

    def _assess(
        self,
        snapshot: RiskSnapshot,
        people: Sequence[Principal],
        shown: Sequence[ShownSignIn],
        operation: OperationClass,
        place: NamespaceRisk,
    ) -> RiskFacts:
        now, table = self.clock(), self._lately.table

        def of(operation: OperationClass) -> tuple[AssessedIdentity, ...]:
            return decide(every, operation, place, snapshot, table, self.freshness, now)

        clients = [principal_of_client(each.client_id, each.tenant) for each in shown]
        every = (*people, *clients)
        paths: dict[str, str] = {}
        for client, each in zip(clients, shown, strict=True):
            paths.setdefault(client.who, each.path)
        assessed = of(operation)
        effects = {each.effect for each in assessed}
        behaviour = Behaviour(0)
        for person in people:
            behaviour |= snapshot.behaviour(person.key, now)
        return RiskFacts(
            operation=operation,
            assessed=assessed,
            recorded=tuple(map(record_risk, assessed)),
            seen_at=paths,
            said=_said(assessed, table),
            meanwhile=tuple(each for each in _MEANWHILE if _lets(of(each)))
            if Effect.DENY in effects
            else (),
            standings=_standings(assessed),
            behaviour=behaviour.words,
            version=snapshot.head.version,
            table=table.digest,
            requires_sandbox=Effect.SANDBOX in effects,
            has_findings=bool(behaviour) or bool(effects - {Effect.ALLOW}),
        )


def risk_place(namespace: Namespace | None) -> NamespaceRisk:
    """Return what a namespace says of risk."""
    if namespace is None:
        return NO_NAMESPACE_RISK
    return NamespaceRisk(namespace.risk_class, namespace.when_risk_stale)


def _table_of(snapshot: RiskSnapshot, before: RiskTable) -> RiskTable:
    """Return the table of a snapshot; `control` put it there only once it had found it sound.

    One of a newer release may be more than this one understands: the last that it did stays.
    """
    try:
        return parse_table(snapshot.head.table, _TABLE)
    except InvalidObjectError as error:
        _log.error("risk table cannot be read: the one before stays in force", problem=str(error))
        return before


def _of_namespace_labels(facts: Facts) -> OperationClass | None:
    marked = facts.namespace_labels is not None and facts.namespace_labels.changed
    return OperationClass.CHANGE_RIGHTS if marked else None


def _asker(request: Request) -> CacheKey | None:
    """Tell who asks from all others; None for who has no risk."""
    subject = request.subject
    if subject.is_system or _unsaid(request):
        return None
    return (subject.username, *subject.groups, None, *subject.extra.get("oid", ()))


def _unsaid(request: Request) -> bool:
    """Return whether nobody knows who asks: of a file that is read, or of what runs."""
    return request.by_accounts or request.running


def _people(subject: Subject | None, author: str | None) -> tuple[Principal, ...]:
    """Return who asks and who asked first, without the cluster's own."""
    asks = principal_of(subject) if subject else None
    asked = principal_of_note(author) if author else None
    return tuple(each for each in (asks, asked) if each)


def _lets(assessed: Sequence[AssessedIdentity]) -> bool:
    return not assessed or assessed[0].effect is not Effect.DENY


def _standings(assessed: Iterable[AssessedIdentity]) -> Standings:
    """Return the first standing of each role, which is that of the strictest effect."""
    words: dict[str, str] = {}
    for each in assessed:
        words.setdefault(each.role.value, each.standing.value)
    return Standings(**words)


def _said(assessed: Iterable[AssessedIdentity], table: RiskTable) -> dict[str, str]:
    """Return the words of the rows that have an effect, and words."""
    rows = {each.row for each in assessed if each.effect is not Effect.ALLOW}
    return {row.name: row.message for row in table.rows if row.name in rows and row.message}
