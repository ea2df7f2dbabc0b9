"""Decides by the table what the risk of a request's identities comes to. Pure."""

from collections.abc import Iterable
from typing import Final

import msgspec

from core.risk.model import AssessedIdentity, Effect, OperationClass, Standing
from core.risk.snapshot import RiskSnapshot
from identity.risk.principals import Principal
from identity.risk.standings import Freshness, standing_of
from identity.risk.table import RiskTable

ROW_OF_NAMESPACE: Final = "namespace/when-risk-stale"
"""What decided in the place of a row: the namespace's choice for data that is too old."""

_RUNNING: Final = frozenset({OperationClass.CREATE_WORKLOAD, OperationClass.EXEC})
"""What a namespace's choice decides: what runs in it. The effect of anything else reaches beyond
it, and is the table's."""


class NamespaceRisk(msgspec.Struct, frozen=True, gc=False):
    """What a namespace says of risk."""

    namespace_class: str = ""
    """The word of `sallyport.dev/risk-class`; empty for none, and outside namespaces."""
    when_stale: Effect | None = None
    """What happens while what is known is too old; None where the namespace does not say."""


NO_NAMESPACE_RISK: Final = NamespaceRisk()


def decide(  # noqa: PLR0913, PLR0917 -- all that a decision depends on, by name
    principals: Iterable[Principal],
    operation: OperationClass,
    place: NamespaceRisk,
    snapshot: RiskSnapshot,
    table: RiskTable,
    freshness: Freshness,
    now: float,
) -> tuple[AssessedIdentity, ...]:
    """Return what the table says of each standing of each identity, the strictest first.

    The strictest effect is the request's: an identity more, or a standing more, never makes it
    milder. Empty where no identity counts. `now` is in Unix seconds.
    """
    found: list[AssessedIdentity] = []
    for principal in principals:
        known = standing_of(principal, snapshot, freshness, now)
        for standing in known.standings:
            effect, row = _effect(standing, principal, operation, place, table)
            assessed = AssessedIdentity(
                role=principal.role,
                who=principal.who,
                standing=standing,
                effect=effect,
                row=row,
                events=known.events,
                event_types=known.event_types,
                age_s=known.age_s,
                since=known.since,
            )
            if assessed not in found:  # A client id may come for two tenants.
                found.append(assessed)
    return tuple(sorted(found, key=_severity, reverse=True))


def _severity(assessed: AssessedIdentity) -> int:
    return assessed.effect.severity


def _effect(
    standing: Standing,
    principal: Principal,
    operation: OperationClass,
    place: NamespaceRisk,
    table: RiskTable,
) -> tuple[Effect, str]:
    chosen = place.when_stale
    if standing is Standing.STALE and chosen is not None and operation in _RUNNING:
        return chosen, ROW_OF_NAMESPACE
    row = table.find(standing, operation, place.namespace_class, principal.role, principal.groups)
    return row.effect, row.name
